package hub_test

import (
	"strings"
	"testing"
	"time"

	"github.com/axle-cd/axle/hub"
	"github.com/axle-cd/axle/internal/errcode"
)

func TestRefusesWhatIsUnsafeOrCannotWork(t *testing.T) {
	tests := map[string]struct {
		config hub.Config
		says   string
	}{
		"no folder":             {hub.Config{}, "--data-dir"},
		"plain HTTP for others": {hub.Config{DataDir: "x", Listen: "0.0.0.0:0"}, "--dev-ca"},
		"all addresses":         {hub.Config{DataDir: "x", Listen: ":0"}, "--insecure-http"},
		"a name":                {hub.Config{DataDir: "x", Listen: "hub.example.com:0"}, "--tls-cert"},
		"two ways":              {hub.Config{DataDir: "x", DevCA: true, InsecureHTTP: true}, "exclude each other"},
		"half a pair":           {hub.Config{DataDir: "x", TLSCert: "c"}, "go together"},
		"no port":               {hub.Config{DataDir: "x", Listen: "localhost"}, "HOST:PORT"},
		"another database":      {hub.Config{DataDir: "x", DatabaseURL: "mysql://h"}, "postgres://"},
		"password in a URL":     {hub.Config{DataDir: "x", ExternalURL: "https://u:p@h"}, "--external-url"},
		"no scheme":             {hub.Config{DataDir: "x", AdvertiseURL: "hub-1:8080"}, "--advertise-url"},
		"hammering":             {hub.Config{DataDir: "x", RepoPollInterval: 1}, "--repo-poll-interval"},
		"a long goodbye":        {hub.Config{DataDir: "x", ShutdownDelay: time.Hour}, "--shutdown-delay"},
		"level":                 {hub.Config{DataDir: "x", CompressionLevel: "11"}, "--compression-level"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if tc.config.DataDir != "" {
				tc.config.DataDir = t.TempDir()
			}
			_, err := hub.New(tc.config)
			if !errcode.Is(err, errcode.Invalid) || !strings.Contains(err.Error(), tc.says) {
				t.Errorf("err = %v", err)
			}
		})
	}
}
