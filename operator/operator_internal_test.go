package operator

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/axle-cd/axle/internal/errcode"
)

// The operator acts with one token: which of two would act is for nobody to guess.
func TestOneTokenFileIsGiven(t *testing.T) {
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte("token"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		config Config
		good   bool
	}{
		"a token of the hub":     {Config{HubURL: "https://hub.example.com", TokenFile: file}, true},
		"that of its account":    {Config{HubURL: "https://hub.example.com", ServiceAccountTokenFile: file}, true},
		"both":                   {Config{HubURL: "https://hub.example.com", TokenFile: file, ServiceAccountTokenFile: file}, false},
		"none":                   {Config{HubURL: "https://hub.example.com"}, false},
		"a token without a hub":  {Config{TokenFile: file}, false},
		"authorities of no file": {Config{HubURL: "https://hub.example.com", TokenFile: file, CAFile: file + ".gone"}, false},
	} {
		if _, err := c.config.hub(); (err == nil) != c.good || err != nil && !errcode.Is(err, errcode.Invalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
