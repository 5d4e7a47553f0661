package manifest_test

import (
	"strings"
	"testing"

	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/sdk/manifest"
)

func TestDocumentsOfASecretAreMerged(t *testing.T) {
	got, err := manifest.MergeChartValues(map[string]string{
		"b.yaml": "auth: {password: b}\nhosts: [c]\n",
		"a.yaml": "auth: {user: a, password: a}\nhosts: [a, b]\nid: 12345678901234567\n",
		"c.yaml": "# nothing yet\n",
		"d.yaml": "---\n# of the ops team\nops: |\n  a\n  ---\n  b\n---\n",
	}, "infra/values")
	if want := `{"auth":{"password":"b","user":"a"},"hosts":["c"],"id":12345678901234567,"ops":"a\n---\nb\n"}`; err != nil || got != want {
		t.Errorf("%s, %v; want %s", got, err, want)
	}
}

func TestASecretWithoutDocumentsIsNamed(t *testing.T) {
	for name, held := range map[string]map[string]string{
		"no key":       {},
		"text":         {"token": "canary"},
		"list":         {"token": "[canary]"},
		"broken":       {"token": "a: canary\nb: {canary\n"},
		"binary":       {"token": "canary\xff\x00"},
		"wrong type":   {"token": "canary: &a [*a]"},
		"variables":    {"token": "APP_NAME=shop\r\nAPP_KEY=canary\r\n\r\nDB_HOST=7\r\n"},
		"two texts":    {"token": "a: canary\n---\nb: canary\n"},
		"a second one": {"a.yaml": "a: 1", "token": "canary"},
	} {
		_, err := manifest.MergeChartValues(held, "infra/values")
		if !errcode.Is(err, errcode.Invalid) || !strings.Contains(err.Error(), "Secret infra/values") || len(held) > 0 && !strings.Contains(err.Error(), "token") || strings.Contains(err.Error(), "canary") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
