package gitcache

import "github.com/axle-cd/axle/hub/gitcache/record"

// AuthKind says which of the credentials an upstream is offered.
type AuthKind = record.AuthKind

// The ways to authenticate.
const (
	AuthNone   = record.AuthNone
	AuthBasic  = record.AuthBasic
	AuthToken  = record.AuthToken
	AuthSSH    = record.AuthSSH
	AuthApp    = record.AuthApp
	AuthBearer = record.AuthBearer
	AuthAWS    = record.AuthAWS
	AuthGCP    = record.AuthGCP
	AuthAzure  = record.AuthAzure
)

// Options of a repository that are no secrets.
type Options = record.Options

// Verify says what must be signed by whom before a head moves.
type Verify = record.Verify

// Kind says what sort of upstream a repository is.
type Kind = record.Kind

// The kinds of repositories.
const (
	KindGit    = record.Git
	KindHelm   = record.Helm
	KindOCI    = record.OCI
	KindBucket = record.Bucket
)
