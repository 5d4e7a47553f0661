package backend

import (
	"context"
	"encoding/base64"
	"hash/crc32"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strconv"
	"strings"

	"github.com/axle-cd/axle/hub/gitcache/upstream/cloudauth"
	"github.com/axle-cd/axle/hub/gitcache/upstream/wire"
	"github.com/axle-cd/axle/internal/errcode"
)

// GCPConfig configures Google Secret Manager in one project. Without a key the
// hub's own account is used.
type GCPConfig struct {
	Project            string              `json:"project"`
	Endpoint           string              `json:"endpoint,omitempty"`
	ServiceAccountFile string              `json:"serviceAccountFile,omitempty"`
	Getenv             func(string) string `json:"-"`
}

// GCP is Google Secret Manager.
type GCP struct {
	GCPConfig
	client *http.Client
	auth   wire.Auth
}

var gcpProject = regexp.MustCompile(`^[a-z0-9:.-]{1,60}$`)

// NewGCP checks the configuration. It opens no connection.
func NewGCP(c GCPConfig) (*GCP, error) {
	if !gcpProject.MatchString(c.Project) {
		return nil, errcode.New(errcode.Invalid, "project: %.60q is not a valid Google Cloud project", c.Project)
	}
	if c.Endpoint == "" {
		c.Endpoint = "https://secretmanager.googleapis.com"
	}
	if err := checkEndpoint("endpoint", c.Endpoint); err != nil {
		return nil, err
	}
	c.Endpoint = strings.TrimSuffix(c.Endpoint, "/")
	tokens, err := tokenClient(strings.HasPrefix(c.Endpoint, "http://"))
	if err != nil {
		return nil, err
	}
	account := &cloudauth.Google{HubIdentity: true, Client: tokens, Env: cloudauth.Operators(c.Getenv, c.Endpoint)}
	if c.ServiceAccountFile != "" {
		raw, err := os.ReadFile(c.ServiceAccountFile)
		if err != nil {
			return nil, errcode.New(errcode.Invalid, "serviceAccountFile: %w", err)
		}
		account.ServiceAccountJSON = string(raw)
		if err := cloudauth.CheckServiceAccount(account.ServiceAccountJSON); err != nil {
			return nil, err
		}
	}
	client, err := newHTTP("")
	return &GCP{GCPConfig: c, client: client, auth: account.Bucket()}, err
}

const gcpName = "Google Secret Manager"

func (s *GCP) ask(ctx context.Context, method, path string, body any) (answer, error) {
	return do(ctx, s.client, call{
		what: gcpName, method: method, url: s.Endpoint + "/v1/projects/" + s.Project + path, body: body,
		sign: func(ctx context.Context, r *http.Request, _ []byte) error { return s.auth.Apply(ctx, r) },
	})
}

// secretName matches valid names: letters, digits, - and _.
var secretName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,255}$`)

func checkSecretName(path string) error {
	if !secretName.MatchString(path) {
		return errcode.New(errcode.Invalid, "%.200q is not a valid secret name in Google Secret Manager; use letters, digits, dashes and underscores", path)
	}
	return nil
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func checksum(data []byte) string {
	return strconv.FormatUint(uint64(crc32.Checksum(data, castagnoli)), 10)
}

// Read implements config.Backend. A path may name a version: "db/versions/3".
func (s *GCP) Read(ctx context.Context, path string) (map[string]string, error) {
	name, version, found := strings.Cut(path, "/versions/")
	if !found {
		version = "latest"
	}
	if err := checkSecretName(name); err != nil {
		return nil, err
	}
	a, err := s.ask(ctx, http.MethodGet, "/secrets/"+name+"/versions/"+url.PathEscape(version)+":access", nil)
	if err != nil {
		return nil, err
	}
	if !a.ok() {
		return nil, refusal(gcpName, path, a)
	}
	var said struct {
		Payload struct {
			Data   string `json:"data"`
			CRC32C string `json:"dataCrc32c"`
		} `json:"payload"`
	}
	if err := decode(gcpName, a, &said); err != nil {
		return nil, err
	}
	data, err := base64.StdEncoding.DecodeString(said.Payload.Data)
	if err != nil || said.Payload.CRC32C != "" && said.Payload.CRC32C != checksum(data) {
		return nil, errcode.New(errcode.Unavailable, "%s: the data of %q was damaged in transit; the hub retries", gcpName, path)
	}
	return fields(string(data)), nil
}

// Write implements config.Backend.
func (s *GCP) Write(ctx context.Context, path string, values map[string]string) error {
	if err := checkSecretName(path); err != nil {
		return err
	}
	secret, err := text(values)
	if err != nil {
		return err
	}
	version := map[string]any{"payload": map[string]string{"data": base64.StdEncoding.EncodeToString([]byte(secret)), "dataCrc32c": checksum([]byte(secret))}}
	a, err := s.ask(ctx, http.MethodPost, "/secrets/"+path+":addVersion", version)
	if err != nil || a.ok() {
		return err
	}
	if a.status != http.StatusNotFound {
		return refusal(gcpName, path, a)
	}
	made, err := s.ask(ctx, http.MethodPost, "/secrets?secretId="+url.QueryEscape(path), map[string]any{
		"replication": map[string]any{"automatic": map[string]any{}}, "labels": map[string]string{"managed-by": "axle"},
	})
	if err != nil {
		return err
	}
	if !made.ok() && made.status != http.StatusConflict {
		return refusal(gcpName, path, made)
	}
	a, err = s.ask(ctx, http.MethodPost, "/secrets/"+path+":addVersion", version)
	if err == nil && !a.ok() {
		err = refusal(gcpName, path, a)
	}
	return err
}

// Delete implements config.Backend. It deletes the secret with all its
// versions.
func (s *GCP) Delete(ctx context.Context, path string) error {
	if err := checkSecretName(path); err != nil {
		return err
	}
	a, err := s.ask(ctx, http.MethodDelete, "/secrets/"+path, nil)
	if err == nil && !a.ok() && a.status != http.StatusNotFound {
		err = refusal(gcpName, path, a)
	}
	return err
}

// Check implements config.Backend.
func (s *GCP) Check(ctx context.Context) error {
	_, err := s.Read(ctx, "axle-check")
	if errcode.Is(err, errcode.NotFound) {
		return nil
	}
	return err
}

// Limit implements config.Backend: a payload has 64 KiB, and JSON escapes need
// some of it.
func (s *GCP) Limit() int { return 24 << 10 }
