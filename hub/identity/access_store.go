package identity

import "context"

// Person is a user or a service account with its groups.
type Person struct {
	User
	// Groups are ids, sorted.
	Groups []string
}

// Group is a set of users and service accounts.
type Group struct {
	ID          string
	Name        string
	Description string
	CreatedAt   int64
	// Members is their number, filled by reads.
	Members int
}

// Member is one membership. Source is empty when a person set it; otherwise it
// names the source, such as a login provider.
type Member struct {
	GroupID string
	UserID  string
	Source  string
}

// Binding gives one subject one action on one object and everything below it.
type Binding struct {
	ID string
	// SubjectKind is KindUser, KindServiceAccount or KindGroup; Subject is the
	// name, filled by reads.
	SubjectKind Kind
	SubjectID   string
	Subject     string
	// Action is one of read, write, create and git.
	Action Action
	Level  Level
	// ObjectID is the project's, cluster's or service's id, empty for the hub;
	// Object is its name, filled by reads, of a service "cluster/name". It is
	// empty when the thing is gone.
	ObjectID  string
	Object    string
	CreatedAt int64
	CreatedBy string
}

// AccessStore stores who may do what. A nil list of ids means all.
type AccessStore interface {
	// People returns those of the ids that exist, in order of name.
	People(ctx context.Context, ids []string) ([]Person, error)
	// UpdateUser writes whether a user is an administrator, or returns NotFound.
	UpdateUser(ctx context.Context, u User) error
	// DeleteUser removes a user with their memberships and bindings.
	DeleteUser(ctx context.Context, id string) error
	// OwnedTokens returns every token of a user, of whatever kind.
	OwnedTokens(ctx context.Context, ownerID string) ([]Token, error)
	// CountAdmins returns how many users are administrators; service accounts
	// do not count.
	CountAdmins(ctx context.Context) (int, error)

	// Groups returns those of the ids that exist, in order of name.
	Groups(ctx context.Context, ids []string) ([]Group, error)
	// GroupByName returns one, or NotFound.
	GroupByName(ctx context.Context, name string) (Group, error)
	// InsertGroup adds a group; Conflict when the name is taken.
	InsertGroup(ctx context.Context, g Group) error
	// DeleteGroup removes a group with its memberships and bindings.
	DeleteGroup(ctx context.Context, id string) error
	// Members returns a group's memberships.
	Members(ctx context.Context, groupID string) ([]Member, error)
	// MembershipsOf returns those that a source gave a user.
	MembershipsOf(ctx context.Context, userID, source string) ([]Member, error)
	// PutMember adds a membership and reports whether it is new.
	PutMember(ctx context.Context, m Member) (bool, error)
	// DeleteMember removes one and reports whether it was there.
	DeleteMember(ctx context.Context, m Member) (bool, error)

	// Bindings returns those of some subjects with every name, oldest first.
	Bindings(ctx context.Context, subjectIDs []string) ([]Binding, error)
	// InsertBinding adds a binding and reports whether it is new.
	InsertBinding(ctx context.Context, b Binding) (bool, error)
	// DeleteBinding removes one by id; a missing one is no error.
	DeleteBinding(ctx context.Context, id string) error
	// StaleBindings returns up to limit bindings whose object or subject was deleted.
	StaleBindings(ctx context.Context, limit int) ([]Binding, error)
}
