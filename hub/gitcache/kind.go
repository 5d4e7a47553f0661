package gitcache

import "github.com/axle-cd/axle/hub/gitcache/record"

// AuthKind says which credentials are used for an upstream.
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

// Options are the settings of a repository that are not secret.
type Options = record.Options

// Verify says which signatures are required before a head moves.
type Verify = record.Verify

// Guarded returns a context in which a guard decides about changes of addresses.
var Guarded = record.Guarded

// Kind is the kind of upstream of a repository.
type Kind = record.Kind

// The kinds of repositories.
const (
	KindGit    = record.Git
	KindHelm   = record.Helm
	KindOCI    = record.OCI
	KindBucket = record.Bucket
)
