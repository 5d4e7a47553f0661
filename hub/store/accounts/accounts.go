// Package accounts stores identities in the hub's database: people and service
// accounts, groups and their bindings, tokens, sessions, logins and their
// providers, and the keys of agents and of the hub. hub/store embeds its Table;
// hub/identity and the packages below it decide what is stored, and for whom.
//
// It seals and hashes nothing and begins no transaction.
//
// Invariants: a list of ids is queried 500 at a time, and sweeps read no row of
// an agent's token.
package accounts

import (
	"context"

	"github.com/axle-cd/axle/hub/store/query"
	"github.com/axle-cd/axle/hub/store/rows"
)

// Table holds all of them. Its methods are safe for concurrent use.
type Table struct {
	*accessRows
	*agentKeyRows
	*passwordRows
	*providerRows
	*sessionRows
	*tokenRows
	*trustRows
	*userRows
}

// The tables, each with the methods of its file.
type (
	// accessRows are groups, their members and bindings.
	accessRows struct{ db query.DB }
	// agentKeyRows are the keys of agents.
	agentKeyRows struct{ db query.DB }
	// passwordRows are passwords and passkeys of people.
	passwordRows struct{ db query.DB }
	// providerRows are login providers and the subjects of people there.
	providerRows struct{ db query.DB }
	// sessionRows are logins, and devices that wait for a login.
	sessionRows struct{ db query.DB }
	// tokenRows are tokens of people, machines and agents.
	tokenRows struct{ db query.DB }
	// trustRows are the issuers whose tokens are accepted for an account.
	trustRows struct{ db query.DB }
	// userRows are people and service accounts, and the hub's signing keys.
	userRows struct {
		db         query.DB
		setSetting func(ctx context.Context, name, value string) error
	}
)

// New returns the accounts in a database. setSetting sets a setting of the hub.
func New(db query.DB, setSetting func(ctx context.Context, name, value string) error) *Table {
	return &Table{
		&accessRows{db}, &agentKeyRows{db}, &passwordRows{db}, &providerRows{db}, &sessionRows{db}, &tokenRows{db}, &trustRows{db}, &userRows{db, setSetting},
	}
}

// Queries are the queries that read each table, for tests.
var Queries = map[rows.Definition]string{
	userTable: selectUsers, signingKeyTable: selectSigningKeys, agentKeyTable: selectAgentKeys, passwordTable: selectPasswords,
	passkeyTable: selectPasskeys, providerTable: selectProviders, trialTable: selectTrials, subjectTable: selectSubjects, sessionTable: selectSessions,
	deviceTable: selectDevices, tokenTable: selectTokens, trustTable: selectTrusts, groupTable: selectGroups, memberTable: selectMembers,
	bindingTable: selectBindings,
}
