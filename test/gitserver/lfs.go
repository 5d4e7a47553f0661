package gitserver

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
)

// LFS is a request to the LFS side of a repository: a batch, or an object.
const LFS Kind = "lfs"

// lfsDir is the folder of a repository's LFS objects, as in bare repositories of
// git-lfs.
func (s *Server) lfsDir(repo string) string { return filepath.Join(s.Path(repo), "lfs", "objects") }

// PutLFS stores a file on the LFS side of a repository and returns the pointer
// to commit in its place.
func (s *Server) PutLFS(repo string, file []byte) (Content, error) {
	sum := sha256.Sum256(file)
	oid := hex.EncodeToString(sum[:])
	if err := os.MkdirAll(s.lfsDir(repo), 0o755); err != nil {
		return "", err
	}
	pointer := fmt.Sprintf("version https://git-lfs.github.com/spec/v1\noid sha256:%s\nsize %d\n", oid, len(file))
	return pointer, os.WriteFile(filepath.Join(s.lfsDir(repo), oid), file, 0o600)
}

// DamageLFS makes every LFS object of a repository other bytes of the same
// length.
func (s *Server) DamageLFS(repo string) error {
	found, err := os.ReadDir(s.lfsDir(repo))
	if err != nil {
		return err
	}
	for _, f := range found {
		name := filepath.Join(s.lfsDir(repo), f.Name())
		raw, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		if len(raw) > 0 {
			raw[0] ^= 1
		}
		if err := os.WriteFile(name, raw, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// SetLFSBase makes the batch answer lead to another server; empty is this one.
func (s *Server) SetLFSBase(url string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lfsBase = url
}

// serveLFS answers a batch of downloads, or sends an object.
func (s *Server) serveLFS(w http.ResponseWriter, r *http.Request, repo, rest string, body []byte) {
	if oid, ok := strings.CutPrefix(rest, "info/lfs/objects/"); ok && oid != "batch" {
		http.ServeFile(w, r, filepath.Join(s.lfsDir(repo), filepath.Base(oid)))
		return
	}
	var ask struct {
		Operation string `json:"operation"`
		Objects   []struct {
			OID  string `json:"oid"`
			Size int64  `json:"size"`
		} `json:"objects"`
	}
	if err := json.Unmarshal(body, &ask); err != nil || ask.Operation != "download" {
		http.Error(w, `{"message":"only downloads"}`, http.StatusUnprocessableEntity)
		return
	}
	s.mu.Lock()
	base := s.lfsBase
	s.mu.Unlock()
	if base == "" {
		base = s.URL(repo) + "/info/lfs/objects/"
	}
	var objects []map[string]any
	for _, o := range ask.Objects {
		answer := map[string]any{"oid": o.OID, "size": o.Size}
		if _, err := os.Stat(filepath.Join(s.lfsDir(repo), filepath.Base(o.OID))); err != nil {
			answer["error"] = map[string]any{"code": 404, "message": "object does not exist"}
		} else {
			answer["actions"] = map[string]any{"download": map[string]any{"href": base + o.OID, "header": map[string]string{"X-Test": "1"}}}
		}
		objects = append(objects, answer)
	}
	w.Header().Set("Content-Type", "application/vnd.git-lfs+json")
	_ = json.NewEncoder(w).Encode(map[string]any{"transfer": "basic", "objects": objects})
}
