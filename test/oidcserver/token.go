package oidcserver

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/go-jose/go-jose/v4"
)

// tampered lets the library answer and changes the ID token in the answer.
func (s *Server) tampered(w http.ResponseWriter, r *http.Request, change func(*Token)) {
	rec := httptest.NewRecorder()
	s.provider.ServeHTTP(rec, r)
	var body map[string]any
	if rec.Code != http.StatusOK || json.Unmarshal(rec.Body.Bytes(), &body) != nil {
		copyAnswer(w, rec)
		return
	}
	raw, _ := body["id_token"].(string)
	parts := strings.Split(raw, ".")
	if len(parts) != 3 {
		copyAnswer(w, rec)
		return
	}
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		copyAnswer(w, rec)
		return
	}
	key := s.storage.signingKey()
	token := &Token{Key: key.private, KeyID: key.id}
	if json.Unmarshal(payload, &token.Claims) != nil {
		copyAnswer(w, rec)
		return
	}
	change(token)
	if body["id_token"], err = token.encode(); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(body)
}

// informed lets the library answer and changes the answer.
func (s *Server) informed(w http.ResponseWriter, r *http.Request, change func(map[string]any)) {
	rec := httptest.NewRecorder()
	s.provider.ServeHTTP(rec, r)
	var claims map[string]any
	if rec.Code != http.StatusOK || json.Unmarshal(rec.Body.Bytes(), &claims) != nil {
		copyAnswer(w, rec)
		return
	}
	change(claims)
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(claims)
}

func copyAnswer(w http.ResponseWriter, rec *httptest.ResponseRecorder) {
	for name, values := range rec.Header() {
		w.Header()[name] = values
	}
	w.WriteHeader(rec.Code)
	_, _ = w.Write(rec.Body.Bytes())
}

// encode signs the token, or does not.
func (t *Token) encode() (string, error) {
	payload, err := json.Marshal(t.Claims)
	if err != nil {
		return "", err
	}
	if t.Unsigned {
		encode := base64.RawURLEncoding.EncodeToString
		return encode([]byte(`{"alg":"none","typ":"JWT"}`)) + "." + encode(payload) + ".", nil
	}
	by := jose.SigningKey{Algorithm: jose.RS256, Key: jose.JSONWebKey{Key: t.Key, KeyID: t.KeyID}}
	if t.HMAC != nil {
		by = jose.SigningKey{Algorithm: jose.HS256, Key: jose.JSONWebKey{Key: t.HMAC, KeyID: t.KeyID}}
	}
	var options *jose.SignerOptions
	if t.Type != "" {
		options = (&jose.SignerOptions{}).WithType(jose.ContentType(t.Type))
	}
	signer, err := jose.NewSigner(by, options)
	if err != nil {
		return "", err
	}
	signed, err := signer.Sign(payload)
	if err != nil {
		return "", err
	}
	return signed.CompactSerialize()
}
