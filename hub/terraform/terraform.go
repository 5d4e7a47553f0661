package terraform

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/armor"
	"golang.org/x/mod/sumdb/dirhash"

	"github.com/axle-cd/axle/internal/errcode"
)

// Dir is where the image of the hub has the zip files.
const Dir = "/usr/share/axle/terraform"

// Paths below the hub.
const (
	WellKnown = "/.well-known/terraform.json"
	Mirror    = "/terraform/mirror/"
	Registry  = "/terraform/providers/"
)

// provider is the name of the only provider, as NAMESPACE/TYPE.
const provider = "axle-cd/axle"

// protocols are the versions of Terraform's plugin protocol that the provider speaks.
var protocols = []string{"6.0"}

var archive = regexp.MustCompile(`^terraform-provider-axle_([0-9A-Za-z.-]+)_([a-z0-9]+)_([a-z0-9]+)\.zip$`)

// Config says where the zip files are. Key returns what NewKey made once, the same on
// each replica.
type Config struct {
	Dir string
	Key func(ctx context.Context) ([]byte, error)
	Log *slog.Logger
}

// Server answers GET and HEAD.
type Server struct {
	config Config

	mu     sync.Mutex
	hashes map[string]hashed
	pgp    *openpgp.Entity
}

// hashed are the hashes of one content of a file.
type hashed struct {
	size     int64
	modified time.Time
	h1, sum  string
}

// New returns a Server; an empty Dir is the image's. The folder may be missing or empty, and files may come later.
func New(c Config) *Server {
	c.Dir = cmp.Or(c.Dir, Dir)
	return &Server{config: c, hashes: map[string]hashed{}}
}

// Register adds the paths to the routes of the hub.
func (s *Server) Register(mux interface {
	Handle(pattern string, handler http.Handler)
}) {
	for _, path := range []string{WellKnown, Mirror, Registry} {
		mux.Handle("GET "+path, s)
	}
}

// file is one zip file.
type file struct{ name, version, os, arch string }

func (s *Server) files() (all []file, _ error) {
	entries, err := os.ReadDir(s.config.Dir)
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if m := archive.FindStringSubmatch(e.Name()); m != nil && e.Type().IsRegular() {
			all = append(all, file{e.Name(), m[1], m[2], m[3]})
		}
	}
	return all, nil
}

// hash reads a file unless it was read as it is now.
func (s *Server) hash(name string) (hashed, error) {
	path := filepath.Join(s.config.Dir, name)
	info, err := os.Stat(path)
	if err != nil {
		return hashed{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if h, ok := s.hashes[name]; ok && h.size == info.Size() && h.modified.Equal(info.ModTime()) {
		return h, nil
	}
	h := hashed{size: info.Size(), modified: info.ModTime()}
	if h.h1, err = dirhash.HashZip(path, dirhash.Hash1); err != nil {
		return hashed{}, fmt.Errorf("%s is damaged: %w", name, err)
	}
	f, err := os.Open(path)
	if err != nil {
		return hashed{}, err
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return hashed{}, err
	}
	h.sum = hex.EncodeToString(sum.Sum(nil))
	s.hashes[name] = h
	return h, nil
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("X-Content-Type-Options", "nosniff")
	var err error
	switch {
	case r.URL.Path == WellKnown:
		answer(w, map[string]string{"providers.v1": Registry})
	case strings.HasPrefix(r.URL.Path, Mirror):
		err = s.mirror(w, r, strings.Split(strings.TrimPrefix(r.URL.Path, Mirror), "/"))
	default:
		err = s.registry(w, r, strings.TrimPrefix(r.URL.Path, Registry))
	}
	if err == nil {
		return
	}
	if errcode.Is(err, errcode.Internal) {
		s.config.Log.Warn("the terraform provider cannot be served", "error", err)
	}
	http.Error(w, errcode.Message(err), errcode.HTTPStatus(errcode.Of(err)))
}

func answer(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	// Whoever went away does not want to know.
	_ = json.NewEncoder(w).Encode(v)
}

var notHere = errcode.New(errcode.NotFound, "this hub serves the provider %s only, from its folder of zip files", provider)

// mirror answers HOST/NAMESPACE/TYPE/index.json, VERSION.json and the files. The host may
// be any: terraform and tofu put their own default there.
func (s *Server) mirror(w http.ResponseWriter, r *http.Request, path []string) error {
	if len(path) != 4 || path[1]+"/"+path[2] != provider {
		return notHere
	}
	all, err := s.files()
	if err != nil {
		return err
	}
	if path[3] == "index.json" {
		versions := map[string]struct{}{}
		for _, f := range all {
			versions[f.version] = struct{}{}
		}
		if len(versions) == 0 {
			return notHere
		}
		answer(w, map[string]any{"versions": versions})
		return nil
	}
	if version, ok := strings.CutSuffix(path[3], ".json"); ok {
		archives := map[string]any{}
		for _, f := range all {
			if f.version != version {
				continue
			}
			h, err := s.hash(f.name)
			if err != nil {
				return err
			}
			archives[f.os+"_"+f.arch] = map[string]any{"url": f.name, "hashes": []string{h.h1, "zh:" + h.sum}}
		}
		if len(archives) == 0 {
			return notHere
		}
		answer(w, map[string]any{"archives": archives})
		return nil
	}
	return s.zip(w, r, all, path[3])
}

func (s *Server) zip(w http.ResponseWriter, r *http.Request, all []file, name string) error {
	if !slices.ContainsFunc(all, func(f file) bool { return f.name == name }) {
		return notHere
	}
	w.Header().Set("Content-Type", "application/zip")
	http.ServeFile(w, r, filepath.Join(s.config.Dir, name))
	return nil
}

// registry answers the paths of the provider registry protocol.
func (s *Server) registry(w http.ResponseWriter, r *http.Request, rest string) error {
	rest, ok := strings.CutPrefix(rest, provider+"/")
	if !ok {
		return notHere
	}
	all, err := s.files()
	if err != nil {
		return err
	}
	path := strings.Split(rest, "/")
	switch {
	case rest == "versions":
		return versions(w, all)
	case len(path) == 4 && path[1] == "download":
		return s.download(w, r, all, file{version: path[0], os: path[2], arch: path[3]})
	case len(path) == 2 && path[1] == "SHA256SUMS":
		sums, err := s.sums(all, path[0])
		if err == nil {
			_, err = w.Write(sums)
		}
		return err
	case len(path) == 2 && path[1] == "SHA256SUMS.sig":
		return s.signature(w, r, all, path[0])
	case len(path) == 2 && path[0] == "files":
		return s.zip(w, r, all, path[1])
	}
	return notHere
}

func versions(w http.ResponseWriter, all []file) error {
	type platform struct {
		OS   string `json:"os"`
		Arch string `json:"arch"`
	}
	type version struct {
		Version   string     `json:"version"`
		Protocols []string   `json:"protocols"`
		Platforms []platform `json:"platforms"`
	}
	var out []version
	for _, f := range all {
		i := slices.IndexFunc(out, func(v version) bool { return v.Version == f.version })
		if i < 0 {
			i, out = len(out), append(out, version{Version: f.version, Protocols: protocols})
		}
		out[i].Platforms = append(out[i].Platforms, platform{f.os, f.arch})
	}
	if len(out) == 0 {
		return notHere
	}
	answer(w, map[string]any{"versions": out})
	return nil
}

func (s *Server) download(w http.ResponseWriter, r *http.Request, all []file, want file) error {
	i := slices.IndexFunc(all, func(f file) bool { return f.version == want.version && f.os == want.os && f.arch == want.arch })
	if i < 0 {
		return notHere
	}
	h, err := s.hash(all[i].name)
	if err != nil {
		return err
	}
	key, err := s.key(r.Context())
	if err != nil {
		return err
	}
	public, err := armored(key)
	if err != nil {
		return err
	}
	base := Registry + provider + "/"
	answer(w, map[string]any{
		"protocols": protocols, "os": want.os, "arch": want.arch, "filename": all[i].name, "shasum": h.sum,
		"download_url": base + "files/" + all[i].name, "shasums_url": base + want.version + "/SHA256SUMS", "shasums_signature_url": base + want.version + "/SHA256SUMS.sig",
		"signing_keys": map[string]any{"gpg_public_keys": []any{map[string]string{"key_id": key.PrimaryKey.KeyIdString(), "ascii_armor": public}}},
	})
	return nil
}

// sums is the file SHA256SUMS of a version.
func (s *Server) sums(all []file, version string) ([]byte, error) {
	var b bytes.Buffer
	for _, f := range all {
		if f.version != version {
			continue
		}
		h, err := s.hash(f.name)
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&b, "%s  %s\n", h.sum, f.name)
	}
	if b.Len() == 0 {
		return nil, notHere
	}
	return b.Bytes(), nil
}

func (s *Server) signature(w http.ResponseWriter, r *http.Request, all []file, version string) error {
	sums, err := s.sums(all, version)
	if err != nil {
		return err
	}
	key, err := s.key(r.Context())
	if err != nil {
		return err
	}
	var b bytes.Buffer
	if err := openpgp.DetachSign(&b, key, bytes.NewReader(sums), nil); err != nil {
		return err
	}
	_, err = w.Write(b.Bytes())
	return err
}

func armored(key *openpgp.Entity) (string, error) {
	var b bytes.Buffer
	w, err := armor.Encode(&b, openpgp.PublicKeyType, nil)
	if err != nil {
		return "", err
	}
	if err := key.Serialize(w); err != nil {
		return "", err
	}
	if err := w.Close(); err != nil {
		return "", err
	}
	return b.String(), nil
}

// NewKey makes a key, as Config.Key returns it.
func NewKey() ([]byte, error) {
	key, err := openpgp.NewEntity("Axle hub", "serves the Terraform provider", "", nil)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if err := key.SerializePrivate(&b, nil); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// key reads the key once.
func (s *Server) key(ctx context.Context) (*openpgp.Entity, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.pgp != nil {
		return s.pgp, nil
	}
	data, err := s.config.Key(ctx)
	if err != nil {
		return nil, err
	}
	ring, err := openpgp.ReadKeyRing(bytes.NewReader(data))
	if err != nil || len(ring) != 1 {
		return nil, fmt.Errorf("the key of the terraform registry is damaged: %w", err)
	}
	s.pgp = ring[0]
	return s.pgp, nil
}
