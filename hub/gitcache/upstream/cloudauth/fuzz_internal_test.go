package cloudauth

import (
	"net/http"
	"testing"

	"github.com/axle-cd/axle/internal/taken"
)

// FuzzAnswers reads any answer of a token service, and any text as a service account's key.
func FuzzAnswers(f *testing.F) {
	for _, text := range []string{`{"error":"invalid_grant","error_description":"x"}`, `{"error":{"code":1}}`, `{"access_token":"t","expires_in":3600}`, `{"expires_in":-1e30}`,
		`{"type":"service_account","client_email":"a","private_key":"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"}`, `[]`, `null`, ``} {
		f.Add(uint16(400), []byte(text))
		f.Add(uint16(200), []byte(text))
	}
	f.Fuzz(func(t *testing.T, code uint16, text []byte) {
		taken.Few(t, len(text), func() {
			var into struct {
				Token   string `json:"access_token"`
				Expires int64  `json:"expires_in"`
			}
			if err := read(&http.Response{StatusCode: int(code), Status: http.StatusText(int(code))}, "https://sts.example.com/token", text, &into); err != nil && len(err.Error()) > 1024 {
				t.Errorf("an error of %d bytes", len(err.Error()))
			}
			if err := CheckServiceAccount(string(text)); err != nil && len(err.Error()) > 1024 {
				t.Errorf("an error of %d bytes", len(err.Error()))
			}
		})
	})
}
