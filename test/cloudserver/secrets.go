package cloudserver

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"net/http"
	"strings"
)

// PutSecret stores a secret for all three managers.
func (s *Server) PutSecret(name, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.putSecret(name, text)
}

// FailSecrets makes every question about secrets fail with a status, 0 for
// none.
func (s *Server) FailSecrets(status int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failing = status
}

func (s *Server) putSecret(name, text string) {
	if s.secrets == nil {
		s.secrets, s.deleted = map[string]string{}, map[string]string{}
	}
	s.secrets[name] = text
}

// secretsManager is AWS Secrets Manager.
func (s *Server) secretsManager(w http.ResponseWriter, r *http.Request, body string) {
	fail := func(status int, name string) {
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(map[string]string{"__type": name, "Message": "no"})
	}
	if s.failing != 0 {
		fail(s.failing, "InternalServiceError")
		return
	}
	if !s.signed(r, "secretsmanager", body) {
		fail(http.StatusBadRequest, "UnrecognizedClientException")
		return
	}
	var ask struct{ SecretId, Name, SecretString string }
	if json.Unmarshal([]byte(body), &ask) != nil {
		fail(http.StatusBadRequest, "SerializationException")
		return
	}
	if len(ask.SecretString) > 65536 {
		fail(http.StatusBadRequest, "InvalidParameterException")
		return
	}
	_, there := s.secrets[ask.SecretId]
	switch action := strings.TrimPrefix(r.Header.Get("X-Amz-Target"), "secretsmanager."); {
	case action == "CreateSecret":
		if _, twice := s.secrets[ask.Name]; twice {
			fail(http.StatusBadRequest, "ResourceExistsException")
			return
		}
		s.putSecret(ask.Name, ask.SecretString)
	case !there:
		fail(http.StatusBadRequest, "ResourceNotFoundException")
		return
	case action == "GetSecretValue":
		_ = json.NewEncoder(w).Encode(map[string]string{"Name": ask.SecretId, "SecretString": s.secrets[ask.SecretId], "VersionId": rand.Text()})
		return
	case action == "PutSecretValue":
		s.putSecret(ask.SecretId, ask.SecretString)
	case action == "DeleteSecret":
		delete(s.secrets, ask.SecretId)
	default:
		fail(http.StatusBadRequest, "InvalidAction")
		return
	}
	fmt.Fprint(w, "{}")
}

// mayAsk admits callers with a token that this cloud issued.
func (s *Server) mayAsk(w http.ResponseWriter, r *http.Request) bool {
	token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	switch {
	case s.failing != 0:
		w.WriteHeader(s.failing)
	case !s.bearer[token]:
		w.WriteHeader(http.StatusUnauthorized)
	default:
		return true
	}
	return false
}

// secretManager is Google Secret Manager.
func (s *Server) secretManager(w http.ResponseWriter, r *http.Request, body string) {
	if !s.mayAsk(w, r) {
		return
	}
	_, path, _ := strings.Cut(r.URL.Path, "/secrets")
	name, rest, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	name, action, _ := strings.Cut(name, ":")
	_, there := s.secrets[name]
	switch {
	case r.Method == http.MethodPost && name == "":
		name = r.URL.Query().Get("secretId")
		if _, twice := s.secrets[name]; twice {
			w.WriteHeader(http.StatusConflict)
			return
		}
		s.putSecret(name, "")
	case !there:
		http.NotFound(w, r)
		return
	case action == "addVersion":
		var ask struct {
			Payload struct{ Data, DataCrc32c string }
		}
		_ = json.Unmarshal([]byte(body), &ask)
		raw, err := base64.StdEncoding.DecodeString(ask.Payload.Data)
		if err != nil || len(raw) > 65536 || ask.Payload.DataCrc32c != crc(raw) {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		s.putSecret(name, string(raw))
	case r.Method == http.MethodDelete:
		delete(s.secrets, name)
	case rest == "versions/latest:access" && s.secrets[name] != "":
		text := s.secrets[name]
		_ = json.NewEncoder(w).Encode(map[string]any{"payload": map[string]string{"data": base64.StdEncoding.EncodeToString([]byte(text)), "dataCrc32c": crc([]byte(text))}})
		return
	default:
		http.NotFound(w, r)
		return
	}
	fmt.Fprint(w, "{}")
}

func crc(data []byte) string {
	return fmt.Sprint(crc32.Checksum(data, crc32.MakeTable(crc32.Castagnoli)))
}

// keyVault is Azure Key Vault, with soft delete.
func (s *Server) keyVault(w http.ResponseWriter, r *http.Request, body string) {
	if !s.mayAsk(w, r) {
		return
	}
	kind, name, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	text, there := s.secrets[name]
	old, gone := s.deleted[name]
	switch {
	case kind == "deletedsecrets" && !gone:
		http.NotFound(w, r)
	case kind == "deletedsecrets" && r.Method == http.MethodDelete:
		delete(s.deleted, name)
		w.WriteHeader(http.StatusNoContent)
	case r.Method == http.MethodPost:
		// Recovered.
		delete(s.deleted, strings.TrimSuffix(name, "/recover"))
		s.putSecret(strings.TrimSuffix(name, "/recover"), old)
	case r.Method == http.MethodPut && gone:
		w.WriteHeader(http.StatusConflict)
	case r.Method == http.MethodPut:
		var ask struct{ Value string }
		if json.Unmarshal([]byte(body), &ask) != nil || len(ask.Value) > 25600 {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		s.putSecret(name, ask.Value)
		fmt.Fprint(w, "{}")
	case !there:
		http.NotFound(w, r)
	case r.Method == http.MethodDelete:
		delete(s.secrets, name)
		s.deleted[name] = text
		fmt.Fprint(w, "{}")
	default:
		_ = json.NewEncoder(w).Encode(map[string]string{"value": text, "id": s.http.URL + "/secrets/" + name})
	}
}
