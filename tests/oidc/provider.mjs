// A certified OpenID provider (npm oidc-provider) on loopback, with its own pages for sign-in, consent and sign-out.
// Arguments: the folder with node_modules, a JSON file with port, client and people. The people are read at every sign-in.
import { generateKeyPairSync } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const [folder, file] = process.argv.slice(2);
const found = createRequire(`${folder}/package.json`).resolve('oidc-provider');
const { default: Provider } = await import(pathToFileURL(found));
const read = () => JSON.parse(readFileSync(file, 'utf8'));
const { port, client, algorithm } = read();

const kinds = { RS256: ['rsa', { modulusLength: 2048 }], ES256: ['ec', { namedCurve: 'P-256' }], EdDSA: ['ed25519', {}] };
// A new key at every start, as after a rotation. The first one must be there for the provider's own checks.
const names = [...new Set([algorithm, 'RS256'])];
const keys = names.map((name) => ({
  ...generateKeyPairSync(...kinds[name]).privateKey.export({ format: 'jwk' }),
  use: 'sig', alg: name, kid: `${name}-${process.pid}`,
}));

const provider = new Provider(`http://127.0.0.1:${port}`, {
  clients: [{ ...client, id_token_signed_response_alg: algorithm }],
  jwks: { keys },
  scopes: ['openid', 'email', 'profile', 'groups'],
  claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['name'], groups: ['groups'] },
  enabledJWA: { idTokenSigningAlgValues: ['RS256', 'ES256', 'EdDSA'] },
  pkce: { required: () => true },
  features: { devInteractions: { enabled: true }, rpInitiatedLogout: { enabled: true } },
  cookies: { keys: ['made-up-cookie-key'] },
  findAccount: (_context, id) => ({ accountId: id, claims: () => ({ sub: id, ...read().people[id] }) }),
});
provider.listen(port, '127.0.0.1', () => console.log('provider is ready'));
