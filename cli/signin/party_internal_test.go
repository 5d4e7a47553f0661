package signin

import (
	"maps"
	"testing"
	"time"

	"golang.org/x/oauth2"

	"github.com/axle-cd/axle/cli/command"
	"github.com/axle-cd/axle/test/oidcserver"
)

// A token lives from when it came: by a clock that is slow, kubectl used one that had ended,
// and by one that is fast, none was right. Others' tokens are refused.
func TestATokenLivesFromWhenItCame(t *testing.T) {
	server := oidcserver.New(t)
	p := Party{Issuer: server.URL, ClientID: "kubectl", App: &command.App{}}
	k, err := p.discover(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		ahead  time.Duration // of the provider's clock
		change map[string]any
		taken  bool
	}{
		"clocks agree":              {0, nil, true},
		"this one is 20 min fast":   {-20 * time.Minute, nil, true},
		"this one is 20 min slow":   {20 * time.Minute, nil, true},
		"of another login":          {0, map[string]any{"nonce": "other"}, false},
		"for another client":        {0, map[string]any{"aud": []string{"other"}}, false},
		"of another issuer":         {0, map[string]any{"iss": "https://other.example.com"}, false},
		"that ended before it came": {0, map[string]any{"exp": time.Now().Add(-time.Hour).Unix()}, false},
		"without a beginning":       {0, map[string]any{"iat": 0}, false},
	} {
		t.Run(name, func(t *testing.T) {
			made := time.Now().Add(tc.ahead)
			claims := map[string]any{"iss": server.URL, "aud": []string{"kubectl"}, "sub": "bob", "nonce": "no", "iat": made.Unix(), "exp": made.Add(10 * time.Minute).Unix()}
			maps.Copy(claims, tc.change)
			text, err := server.Sign(claims, func(*oidcserver.Token) {})
			if err != nil {
				t.Fatal(err)
			}
			got, err := k.verified(t.Context(), (&oauth2.Token{RefreshToken: "r"}).WithExtra(map[string]any{"id_token": text}), "no")
			if (err == nil) != tc.taken {
				t.Fatalf("%+v, %v", got, err)
			}
			if left := time.Until(got.ExpiresAt); tc.taken && (left <= 9*time.Minute || left > 10*time.Minute) {
				t.Errorf("it is used for %s", left)
			}
		})
	}
	if _, err := k.verified(t.Context(), &oauth2.Token{}, "no"); err == nil {
		t.Error("an answer without an ID token is taken")
	}
}
