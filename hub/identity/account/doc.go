// Package account is how people log in: passwords and second factors, login
// providers and the users who come through them, sessions, command lines and
// devices, the setup of a new hub and the reset of a lost password.
//
// It issues the tokens of logins through identity.Credentials. hub/identity
// authenticates them afterwards and decides what their owners may do. It does
// not speak HTTP or OpenID Connect: hub/login does, and passes claims that it
// has verified. hub/console calls it for providers and sessions, hub for setup
// and reset.
//
// Invariants:
//   - A session lives 7 days and ends after 12 h without use; a person has at
//     most 50. Its token is valid as a cookie only.
//   - The answer to a bad login does not reveal which accounts exist.
//   - A user comes back by the provider's subject, never by an e-mail address
//     alone. A claim gives only groups that an administrator mapped.
//   - Setup, reset and command line codes, logouts and one-time codes work once.
//   - At most 2,000 device logins wait, 20 from one source.
package account
