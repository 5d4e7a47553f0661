// Package accounts keeps who there is, in the hub's database: people and service
// accounts, groups and what they may do, tokens, sessions, logins and their
// providers, and the keys of agents and of the hub. hub/store embeds its Table;
// what is kept, and for whom, is decided by hub/identity.
//
// It seals and hashes nothing and begins no transaction.
//
// What holds: a list of ids is asked for 500 at a time, and sweeps read no row of
// an agent's token.
package accounts

import (
	"context"

	"github.com/axle-cd/axle/hub/store/query"
	"github.com/axle-cd/axle/hub/store/rows"
)

// Table is all of them. Its methods may be called by many goroutines.
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

// What is kept, each with the methods of its file.
type (
	// accessRows is groups, their members and what is bound to them.
	accessRows struct{ db query.DB }
	// agentKeyRows are the keys of agents.
	agentKeyRows struct{ db query.DB }
	// passwordRows are those of people, and their passkeys.
	passwordRows struct{ db query.DB }
	// providerRows are those of logins, with the subjects that they know people by.
	providerRows struct{ db query.DB }
	// sessionRows are logins, and devices that wait for one.
	sessionRows struct{ db query.DB }
	// tokenRows are those of people, machines and agents.
	tokenRows struct{ db query.DB }
	// trustRows are the issuers whose tokens are taken for an account's.
	trustRows struct{ db query.DB }
	// userRows are people and service accounts, and the keys that the hub signs with.
	userRows struct {
		db         query.DB
		setSetting func(ctx context.Context, name, value string) error
	}
)

// New returns the accounts in a database, with what sets a setting of the hub.
func New(db query.DB, setSetting func(ctx context.Context, name, value string) error) *Table {
	return &Table{
		&accessRows{db}, &agentKeyRows{db}, &passwordRows{db}, &providerRows{db}, &sessionRows{db}, &tokenRows{db}, &trustRows{db}, &userRows{db, setSetting},
	}
}

// Queries read the tables, by their definitions.
var Queries = map[rows.Definition]string{
	userTable: selectUsers, signingKeyTable: selectSigningKeys, agentKeyTable: selectAgentKeys, passwordTable: selectPasswords,
	passkeyTable: selectPasskeys, providerTable: selectProviders, subjectTable: selectSubjects, sessionTable: selectSessions,
	deviceTable: selectDevices, tokenTable: selectTokens, trustTable: selectTrusts, groupTable: selectGroups, memberTable: selectMembers,
	bindingTable: selectBindings,
}
