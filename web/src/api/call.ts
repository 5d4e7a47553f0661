import { type DescMessage, type DescMethodUnary, type MessageInitShape, type MessageShape } from '@bufbuild/protobuf'
import { QueryClient, type UseQueryOptions, hashKey, keepPreviousData, useMutation, useQuery } from '@tanstack/react-query'
import { lasting } from './errors'
import { transport } from './transport'

// unary makes one call.
export async function unary<I extends DescMessage, O extends DescMessage>(method: DescMethodUnary<I, O>, input: MessageInitShape<I>, signal?: AbortSignal): Promise<MessageShape<O>> {
  const { message } = await transport.unary(method, signal, undefined, undefined, input)
  return message
}

type Method = { name: string; parent: { typeName: string } }

// keyOf is the query key of a call; without input it matches all calls of a
// method, without a method all of a service.
export function keyOf(method: Method, input?: unknown): unknown[] {
  return input === undefined ? [method.parent.typeName, method.name] : [method.parent.typeName, method.name, input]
}

type Options<T> = Pick<UseQueryOptions<T>, 'enabled' | 'refetchInterval' | 'staleTime' | 'gcTime' | 'retry'> & {
  // Shows the answer of the previous input until the new one is there.
  keep?: boolean
}

// useCall reads. Old data stays while it is read again, and when that fails.
export function useCall<I extends DescMessage, O extends DescMessage>(method: DescMethodUnary<I, O>, input: MessageInitShape<I>, options: Options<MessageShape<O>> = {}) {
  const { keep, ...rest } = options
  return useQuery<MessageShape<O>>({
    queryKey: keyOf(method, input),
    queryFn: ({ signal }) => unary(method, input, signal),
    ...(keep ? { placeholderData: keepPreviousData } : {}),
    ...rest,
  } as UseQueryOptions<MessageShape<O>>)
}

// useAction writes. Nothing is repeated by itself: a write has happened or not.
export function useAction<I extends DescMessage, O extends DescMessage>(method: DescMethodUnary<I, O>, done?: (answer: MessageShape<O>) => void) {
  return useMutation({
    mutationFn: (input: MessageInitShape<I>) => unary(method, input),
    onSuccess: done,
  })
}

// Full jitter, 0.5 s to 15 s.
function backoff(attempt: number): number {
  return 500 + Math.random() * Math.min(14_500, 500 * 2 ** attempt)
}

export function newQueryClient(): QueryClient {
  return new QueryClient({
    defaultOptions: {
      queries: {
        queryKeyHashFn: (key) => hashKey(JSON.parse(JSON.stringify(key, (_, v: unknown) => (typeof v === 'bigint' ? `${v}n` : v))) as unknown[]),
        staleTime: 5_000,
        gcTime: 5 * 60_000,
        refetchOnWindowFocus: false,
        retry: (count, error) => count < 2 && !lasting(error),
        retryDelay: backoff,
        networkMode: 'always',
      },
      mutations: { networkMode: 'always' },
    },
  })
}
