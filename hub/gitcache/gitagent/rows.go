package gitagent

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/axle-cd/axle/internal/digest"
	"github.com/axle-cd/axle/internal/errcode"
)

// Kind says what sort of upstream a repository is.
type Kind string

// Git is the one kind so far. Recipes and rows carry the kind, so that charts
// and images can come beside it.
const Git Kind = "git"

// AuthKind says which of the credentials an upstream is offered.
type AuthKind string

// The ways to authenticate to a Git server.
const (
	AuthNone  AuthKind = ""
	AuthBasic AuthKind = "basic" // Username and Password
	AuthToken AuthKind = "token" // Password is a token; Username may be empty
	AuthSSH   AuthKind = "ssh"   // PrivateKey, and KnownHosts
)

// Credentials are the secrets of one repository. They are stored sealed, are
// never listed, and reach git over pipes and sockets only.
type Credentials struct {
	Username   string `json:"username,omitempty"`
	Password   string `json:"password,omitempty"`
	PrivateKey string `json:"privateKey,omitempty"` // PEM
	Passphrase string `json:"passphrase,omitempty"` // of PrivateKey
	KnownHosts string `json:"knownHosts,omitempty"` // lines of known_hosts
	CA         string `json:"ca,omitempty"`         // PEM; empty is the system's
}

// String keeps the secrets out of logs and messages.
func (Credentials) String() string { return "[credentials]" }

// GoString is String, for %#v.
func (Credentials) GoString() string { return "[credentials]" }

// Repository is one upstream that the hub follows. Everything from Health on
// is written by its git agent alone.
type Repository struct {
	ID        string
	Name      string // unique; what people say
	ProjectID string // empty is the default project
	Kind      Kind
	URL       string // without user or password
	Auth      AuthKind
	CreatedAt time.Time
	UpdatedAt time.Time

	// Generation counts changes of URL, auth and credentials, so that an
	// agent notices them.
	Generation int64

	Health Health
}

// HealthState says whether the upstream could be read when last tried.
type HealthState string

// The states. A repository that was never tried is Unknown.
const (
	Unknown  HealthState = "UNKNOWN"
	Pullable HealthState = "PULLABLE"
	Failed   HealthState = "FAILED"
)

// Health is what is known of an upstream, with ages.
type Health struct {
	State   HealthState
	Message string // upstream's words when Failed, credentials masked

	CheckedAt   time.Time // last time that upstream's refs were read
	FetchedAt   time.Time // last time that objects were fetched
	FailedSince time.Time // zero unless Failed
	Bytes       int64     // of the mirror on disk
}

// Source is what services follow: a folder at a ref of a repository. Services
// that follow the same thing share one source. Make it with NewSource.
type Source struct {
	ID           string
	RepositoryID string
	Ref          string   // branch, tag, or full object id; refs/... is exact
	Folder       string   // clean, without slashes around; empty is the root
	Files        []string // further files and folders, from the root; sorted
}

// NewSource normalises the parts of a source and derives its ID from them: the
// same source has the same ID in every process.
func NewSource(repositoryID, ref, folder string, files []string) (Source, error) {
	s := Source{RepositoryID: repositoryID, Ref: strings.TrimSpace(ref)}
	if repositoryID == "" {
		return Source{}, errcode.New(errcode.Invalid, "source has no repository; set one")
	}
	if s.Ref == "" {
		return Source{}, errcode.New(errcode.Invalid, "source has no ref; set a branch, a tag or a full commit id")
	}
	var err error
	if s.Folder, err = cleanPath(folder); err != nil {
		return Source{}, err
	}
	for _, f := range files {
		f, err := cleanPath(f)
		if err != nil {
			return Source{}, err
		}
		if f != "" {
			s.Files = append(s.Files, f)
		}
	}
	slices.Sort(s.Files)
	s.Files = slices.Compact(s.Files)
	s.ID = s.id()
	return s, nil
}

// cleanPath makes a path relative to the root, which is "".
func cleanPath(p string) (string, error) {
	c := strings.Trim(path.Clean("/"+strings.TrimRight(p, "/")), "/")
	if strings.HasPrefix(path.Clean(strings.TrimLeft(p, "/")), "..") {
		return "", errcode.New(errcode.Invalid, "folder %.200q leaves the repository; give a path from its root", p)
	}
	if strings.Contains(p, "\x00") || len(p) > digest.MaxPathBytes {
		return "", errcode.New(errcode.Invalid, "folder %.200q is not a path", p)
	}
	return c, nil
}

func (s Source) id() string {
	h := sha256.New()
	for _, part := range append([]string{"source 1", s.RepositoryID, s.Ref, s.Folder}, s.Files...) {
		h.Write(binary.BigEndian.AppendUint32(nil, uint32(len(part))))
		h.Write([]byte(part))
	}
	return "src_" + hex.EncodeToString(h.Sum(nil))[:32]
}

// Head is what a source points at now. Revision to FetchedAt describe the last
// content that could be produced and stay when Error is set, so that services
// keep running what was good.
type Head struct {
	SourceID     string
	RepositoryID string

	// Revision is the commit in which the present content was first seen. A
	// later commit that leaves the content alone does not change it.
	Revision    string
	Message     string // first line of the commit's message
	Author      string // name and address as the commit has them
	CommittedAt time.Time

	Digest digest.Digest // empty when nothing could be produced yet
	Size   int64         // of the tarball as stored, in bytes
	// Entry is the source's folder inside the tarball: empty when the tarball
	// starts at the folder, longer when it had to start above it.
	Entry string
	// Key changes when the content may have changed. Opaque.
	Key string

	Epoch     int64 // lease epoch of the writer
	FetchSeq  int64 // counts fetches of the repository under that epoch
	FetchedAt time.Time

	// Error says why the source as it is now cannot be produced: what, where,
	// and what to do. ErrorCode classes it. Both empty when all is well.
	Error      string
	ErrorCode  errcode.Code
	ErrorSince time.Time

	UpdatedAt time.Time
}

// Artifact records how the tarball of a digest is made again.
type Artifact struct {
	Digest    digest.Digest
	Recipe    Recipe
	Size      int64 // stored bytes when it was made
	Files     int
	Bytes     int64 // unpacked
	CreatedAt time.Time
}

// Recipe tells any owner of a repository how to rebuild a tarball. It is
// stored as JSON; fields may be added, never change their meaning.
type Recipe struct {
	Kind         Kind     `json:"kind"`
	RepositoryID string   `json:"repository"`
	Commit       string   `json:"commit"`
	Tree         string   `json:"tree,omitempty"` // of the commit
	Folder       string   `json:"folder,omitempty"`
	Files        []string `json:"files,omitempty"`
	// Parts are further sources whose content lies under a path of this one.
	Parts []Part `json:"parts,omitempty"`
}

// Part is one piece of a tarball that is made of several.
type Part struct {
	Path   string `json:"path"`
	Recipe Recipe `json:"recipe"`
}

// Pin names an artifact that must be possible to serve: it is in a current
// spec, in a kept revision, or was superseded less than a day ago.
type Pin struct {
	Digest       digest.Digest
	RepositoryID string
	Commit       string
}
