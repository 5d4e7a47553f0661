import { create } from '@bufbuild/protobuf'
import { expect, it } from 'vitest'
import { cliCommand, helmCommand, kubectlCommand, parseTags, quote, terraformBlock } from './install'
import { CreateClusterResponseSchema } from '#/api/gen/hub/v1/hub_pb'

it('reads tags, and says which one is none', () => {
  expect(parseTags('tier=prod\n region = eu ,a=b=c')).toEqual({ tags: { tier: 'prod', region: 'eu', a: 'b=c' } })
  expect(parseTags('tier').problem).toBe('“tier” is not KEY=VALUE')
  expect(parseTags('').tags).toEqual({})
})

it('never lets a name or tag leave its word in a shell', () => {
  expect(quote('eu-prod-1')).toBe('eu-prod-1')
  expect(quote("a'; rm -rf ~ #")).toBe("'a'\\''; rm -rf ~ #'")
  expect(cliCommand('edge-1', 'shop', { note: 'a b $(x)' })).toBe("axle clusters connect edge-1 --project shop --tag 'note=a b $(x)'")
})

it('gives manifests to kubectl exactly as they are', () => {
  expect(kubectlCommand('a: "$HOME"\n')).toBe("kubectl apply -f - <<'AXLE'\na: \"$HOME\"\nAXLE")
})

it('installs the chart with token, URL and authority', () => {
  const made = create(CreateClusterResponseSchema, { hubUrl: 'https://hub.example.com', bootstrapToken: 'axle_x', caPem: '-----BEGIN CERTIFICATE-----\n' })
  expect(helmCommand(made)).toContain('--set hubUrl=https://hub.example.com \\\n  --set token=axle_x \\\n  --set-file caPem=/dev/stdin')
})

it('declares the cluster for Terraform', () => {
  expect(terraformBlock('eu.prod-1', 'default', { tier: 'prod' })).toBe('resource "axle_cluster" "eu_prod_1" {\n  name = "eu.prod-1"\n  tags = {\n    "tier" = "prod"\n  }\n}')
})
