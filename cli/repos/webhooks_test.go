package repos_test

import (
	"os"
	"path/filepath"
	"testing"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/api/hub/v1/hubv1connect"
	"github.com/axle-cd/axle/cli/commandtest"
	"github.com/axle-cd/axle/cli/repos"
)

// The end of the line that an editor adds to a file is no part of the secret.
func TestASecretOfAFileHasNoEndOfLine(t *testing.T) {
	file := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(file, []byte("not a secret\r\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	answers := commandtest.Answers{hubv1connect.WebhooksCreateProcedure: &hubv1.CreatedWebhook{Webhook: &hubv1.Webhook{Name: "ci"}}}
	got := commandtest.Run(t, answers, repos.Webhooks, "create", "ci", "--provider", "generic", "--secret-file", file)
	if got.Error != nil || len(got.Requests) != 1 || got.Requests[0].(*hubv1.CreateWebhookRequest).GetSecret() != "not a secret" {
		t.Errorf("%+v", got)
	}
}
