// A relying party on openid-client. It is told what to do by lines of JSON on its standard
// input, and answers each with one: {"ok": …} or {"error": …}.
import { createInterface } from "node:readline";
import * as client from "openid-client";

const issuer = process.argv[2];
let config, verifier, state, nonce;

const steps = {
  async discover({ id, secret, metadata }) {
    config = await client.discovery(new URL(issuer), id, { client_secret: secret, ...metadata }, secret ? undefined : client.None(), {
      execute: [client.allowInsecureRequests],
    });
    return config.serverMetadata();
  },
  async authorize({ parameters }) {
    verifier = client.randomPKCECodeVerifier();
    state = client.randomState();
    nonce = client.randomNonce();
    const code_challenge = await client.calculatePKCECodeChallenge(verifier);
    return client.buildAuthorizationUrl(config, { code_challenge, code_challenge_method: "S256", state, nonce, ...parameters }).href;
  },
  async trade({ url, pkceCodeVerifier, maxAge }) {
    const tokens = await client.authorizationCodeGrant(config, new URL(url), {
      pkceCodeVerifier: pkceCodeVerifier ?? verifier,
      expectedState: state,
      expectedNonce: nonce,
      maxAge,
      idTokenExpected: true,
    });
    return { tokens, claims: tokens.claims() };
  },
  async refresh({ token }) {
    const tokens = await client.refreshTokenGrant(config, token);
    return { tokens, claims: tokens.claims() };
  },
  async userinfo({ token, subject }) {
    return client.fetchUserInfo(config, token, subject);
  },
  async introspect({ token }) {
    return client.tokenIntrospection(config, token);
  },
  async revoke({ token }) {
    await client.tokenRevocation(config, token);
    return {};
  },
  async logoutURL({ parameters }) {
    return client.buildEndSessionUrl(config, parameters).href;
  },
  async credentials({ parameters }) {
    return client.clientCredentialsGrant(config, parameters);
  },
  async device({ parameters }) {
    steps.started = await client.initiateDeviceAuthorization(config, parameters);
    return steps.started;
  },
  async poll() {
    const tokens = await client.pollDeviceAuthorizationGrant(config, { ...steps.started, interval: 1 });
    return { tokens, claims: tokens.claims() };
  },
  async generic({ grant, parameters }) {
    return client.genericGrantRequest(config, grant, parameters);
  },
};

for await (const line of createInterface({ input: process.stdin })) {
  const { step, ...arguments_ } = JSON.parse(line);
  let answer;
  try {
    answer = { ok: await steps[step](arguments_) };
  } catch (error) {
    answer = { error: error.error ?? error.code ?? String(error), description: error.error_description ?? error.message, cause: String(error.cause?.message ?? "") };
  }
  process.stdout.write(JSON.stringify(answer) + "\n");
}
