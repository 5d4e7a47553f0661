// @vitest-environment jsdom
import { describe, expect, it } from 'vitest'
import { fullOf, refusal } from './change'
import { type View, isPlain, keyOf, longest, most, placeOf, readViews } from './views'

const view = (name: string, address = '/services?verdict=Failed'): View => ({ name, ...placeOf(address)! })
const many = Array.from({ length: most }, (_, i) => view(`view ${i}`))

describe('an address', () => {
  const key = (address: string) => keyOf(placeOf(address)!)

  it('is the same whatever the order of its parameters and its values', () => {
    const one = key('/services?verdict=Failed&verdict=Stale&q=a+b&sort=-name')
    expect(key('/services?sort=-name&verdict=Stale&q=a%20b&verdict=Failed')).toBe(one)
    expect(key('/services?sort=-name&verdict=Stale&q=a%20b&verdict=Failed&empty=&peek=prod-eu/web#here')).toBe(one)
  })

  it.each([
    '/services?verdict=Failed&q=a+b&sort=-name',
    '/services?verdict=Failed&verdict=Stale&q=a+b&sort=name',
    '/clusters?verdict=Failed&verdict=Stale&q=a+b&sort=-name',
    '/clusters/prod-eu/services?verdict=Failed&verdict=Stale&q=a+b&sort=-name',
  ])('is another: %s', (other) => expect(key(other)).not.toBe(key('/services?verdict=Failed&verdict=Stale&q=a+b&sort=-name')))

  it('is plain without a filter, an order or columns', () => {
    for (const plain of ['/services', '/services?peek=a/b', '/audit?record=3', '/activity?tab=events', '/services?q=']) expect(isPlain(placeOf(plain)!), plain).toBe(true)
    for (const not of ['/services?q=a', '/services?sort=name', '/clusters?cols=name', '/clusters?view=heat', '/activity?tab=events&kind=service.*']) expect(isPlain(placeOf(not)!), not).toBe(false)
  })

  it('keeps its parameters as they are in the address', () => {
    expect(placeOf('/clusters/prod-eu/services?verdict=Failed&tag=tier=prod&peek=x&q=o%27clock')).toEqual({ path: '/clusters/prod-eu/services', search: '?verdict=Failed&tag=tier=prod&q=o%27clock' })
  })
})

describe('what is stored', () => {
  const read = (path: unknown, search: unknown = '', name: unknown = 'a view') => readViews([{ name, path, search }])

  it('is read as it was written', () => {
    const views = [view('one'), view('two', '/activity?tab=events&kind=service.*'), view('ÄÖÜ “3” 🚀', '/clusters/prod-eu/services?q=%C3%A9')]
    expect(readViews(JSON.parse(JSON.stringify(views)))).toEqual(views)
  })

  it.each(
    [
      'javascript:alert(1)', 'JaVaScRiPt:alert(1)', ' javascript:alert(1)', '/javascript:alert(1)', 'data:text/html,<script>alert(1)</script>', 'blob:http://localhost:3000/services', 'vbscript:x',
      'https://evil.test/services', '//evil.test/services', '///evil.test/services', '/\\evil.test/services', '\\\\evil.test\\services', '/\t/evil.test/services', '/\n/evil.test', '\t//evil.test/services', 'http:evil.test', '@evil.test', '.evil.test', ':80/services', '/%2f/evil.test', '/services@evil.test/../../..//evil.test',
      '', '/', 'services', '/servicesx', '/Services', '/logout', '/login?next=//evil.test', '/login/account', '/setup', '/device?code=AB', '/docs/', '/proxy/x', '/ws/x', '/axle.hub.v1.Services/Delete', '/services/../logout', '/services/..%2f/../../logout', '/services/%2e%2e/logout', '/services\\..\\logout', '/services/./../login',
    ],
  )('leads nowhere: %j', (path) => {
    expect(read(path)).toEqual([])
    expect(read(path, '?verdict=Failed')).toEqual([])
    // Nor in two parts.
    expect(read(path.slice(0, 3), path.slice(3))).toEqual([])
  })

  it('leads to a page of this origin, whatever its parameters', () => {
    for (const search of ['?q=javascript:alert(1)', '?next=//evil.test', '?x=1#javascript:alert(1)', '?\\\\evil.test', '@evil.test', '/../../..//evil.test/', '//evil.test', '?<script>']) {
      for (const v of read('/services', search)) {
        const url = new URL(v.path + v.search, location.origin)
        expect(url.origin, search).toBe(location.origin)
        expect(url.pathname, search).toMatch(/^\/services(\/|$)/)
        expect(url.pathname, search).toBe(v.path)
      }
    }
  })

  it('is nothing when it is no list of views', () => {
    for (const stored of [undefined, null, '', 'x', 0, 7, true, {}, { length: 3 }, [null], [undefined], [1], ['/services'], [[]], [{}], [[view('a')]], { 0: view('a') }]) expect(readViews(stored), JSON.stringify(stored)).toEqual([])
    for (const bad of [undefined, null, 1, {}, ['/services'], true]) {
      expect(read(bad)).toEqual([])
      expect(read('/services', bad ?? 1)).toEqual([])
      expect(read('/services', '', bad ?? 1)).toEqual([])
    }
  })

  it('loses names that nobody could have given', () => {
    for (const name of ['', ' ', ' a', 'a\nb', 'a\u0000', 'a\u001b[2J', 'x'.repeat(longest + 1)]) expect(read('/services', '', name), JSON.stringify(name)).toEqual([])
    expect(read('/services', '', 'x'.repeat(longest))).toHaveLength(1)
    expect(readViews([view('a'), view('A', '/clusters'), view('b')]).map((v) => v.path + v.name)).toEqual(['/servicesa', '/servicesb'])
  })

  it(`has at most ${most} views`, () => expect(readViews([...many, view('one more')])).toEqual(many))
})

describe('a name', () => {
  it('is given once, and is not empty or long', () => {
    const views = [view('One'), view('Two')]
    expect(refusal(views, 'three')).toBeUndefined()
    expect(refusal(views, ' \n')).toMatch(/Give/)
    expect(refusal(views, 'x'.repeat(longest + 1))).toMatch(/at most 60 characters; this one has 61/)
    expect(refusal(views, ' one ')).toMatch(/“One” already/)
    expect(refusal(views, 'two', 'One')).toMatch(/“Two” already/)
    expect(refusal(views, 'ONE', 'One')).toBeUndefined()
  })

  it('is refused to one more than fit, with what to remove; a rename is not', () => {
    expect(refusal(many.slice(1), 'new')).toBeUndefined()
    expect(refusal(many, 'new')).toBe(fullOf(many))
    expect(fullOf(many)).toMatch(/20 views.*“view 0”.*remove/)
    expect(refusal(many, 'new', 'view 3')).toBeUndefined()
  })
})
