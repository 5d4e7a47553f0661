package accounts

import (
	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/hub/identity/account"
	"github.com/axle-cd/axle/hub/identity/agentkey"
	"github.com/axle-cd/axle/hub/identity/wiring"
)

// IdentityStores returns the tables for hub/identity and the packages below it.
func (t *Table) IdentityStores() wiring.Stores {
	return wiring.Stores{
		Identity: identity.Stores{
			Tokens: t, Index: t, Uses: t, Proofs: t, Access: t, Users: t, UserReader: t, Groups: t, Members: t, Bindings: t,
		},
		Account: account.Stores{
			Passwords: t, Passkeys: t, Providers: t, Trials: t, Subjects: t, Members: t, Users: t, Sessions: t, Tokens: t,
			Devices: t, DeviceCounts: t, Marks: t,
		},
		AgentKey: agentkey.Stores{Keys: t, Tokens: t}, SigningKeys: t, Trusts: t, Marks: t,
	}
}
