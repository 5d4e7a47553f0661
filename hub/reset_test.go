package hub_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/axle-cd/axle/hub"
	"github.com/axle-cd/axle/hub/event/audit"
	"github.com/axle-cd/axle/hub/hubtest"
	"github.com/axle-cd/axle/hub/identity/account"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/eventually"
)

// A lost password is reset on the hub's machine while the hub runs: its
// sessions end there, too, and the link that is printed works.
func TestResetBesideARunningHub(t *testing.T) {
	t.Run("SQLite", func(t *testing.T) { resetBeside(t, hubtest.HubConfig{}) })
	t.Run("Postgres", func(t *testing.T) {
		resetBeside(t, hubtest.HubConfig{DatabaseURL: hubtest.Postgres(t), KeyFile: filepath.Join(t.TempDir(), "hub.key")})
	})
}

func resetBeside(t *testing.T, running hubtest.HubConfig) {
	h := hubtest.New(t, hubtest.Config{Hub: running})
	directory := h.Parts().Identity
	user, err := directory.UserByName(t.Context(), hubtest.Admin)
	if err != nil {
		t.Fatal(err)
	}
	session, err := h.Parts().Accounts.StartSession(t.Context(), user, account.SessionTerms{Method: account.MethodPassword}, "")
	if err != nil {
		t.Fatal(err)
	}
	config := hub.Config{DataDir: h.DataDir, DatabaseURL: running.DatabaseURL, KeyFile: running.KeyFile, ExternalURL: h.URL + "/"}
	noKey := config
	noKey.KeyFile = filepath.Join(t.TempDir(), "none")
	made, err := hub.ResetLogin(t.Context(), config, hubtest.Admin, true)
	if err != nil || made.Ended != 2 || made.User != hubtest.Admin || !strings.HasPrefix(made.URL, h.URL+"/login/reset?token=axle_") {
		t.Fatalf("%+v, %v", made, err)
	}
	eventually.For(t, limit, "the running hub refuses the session", func() error {
		if _, err := directory.AuthenticateSession(t.Context(), session.Secret); !errcode.Is(err, errcode.Unauthorized) {
			return fmt.Errorf("it still works: %w", err)
		}
		if _, err := directory.Authenticate(t.Context(), h.AdminToken); !errcode.Is(err, errcode.Unauthorized) {
			return fmt.Errorf("the API token still works: %w", err)
		}
		return nil
	})
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, made.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	page, err := io.ReadAll(answer.Body)
	if err := errors.Join(err, answer.Body.Close()); err != nil || answer.StatusCode != http.StatusOK || !strings.Contains(string(page), hubtest.Admin) {
		t.Errorf("the page: %s %s %v", answer.Status, page, err)
	}
	rows, err := h.Parts().Store.AuditRows(t.Context(), audit.Query{Action: "login.reset_prepared"})
	if err != nil || len(rows) != 1 || !strings.Contains(string(rows[0].Record), hubtest.Admin) || strings.Contains(string(rows[0].Record), "axle_") {
		t.Errorf("recorded are %v, %v", rows, err)
	}
	for name, test := range map[string]struct {
		config hub.Config
		email  string
		code   errcode.Code
	}{
		"nobody":      {config, "nobody@example.com", errcode.NotFound},
		"no database": {hub.Config{DataDir: t.TempDir()}, hubtest.Admin, errcode.NotFound},
		"no key":      {noKey, hubtest.Admin, errcode.Conflict},
	} {
		if made, err := hub.ResetLogin(context.WithoutCancel(t.Context()), test.config, test.email, false); !errcode.Is(err, test.code) || made.URL != "" {
			t.Errorf("%s: %+v, %v; want %s", name, made, err, test.code)
		}
	}
}
