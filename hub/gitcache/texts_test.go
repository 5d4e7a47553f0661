package gitcache_test

import (
	"os"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/axle-cd/axle/hub/gitcache"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/test/gitserver"
)

// TestTextsOfTheField plays the rows of test/field/sources/texts.yaml that are about what a service
// asks for.
func TestTextsOfTheField(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../test/field/sources/texts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var table struct {
		Rows []struct{ What, Ref, Folder, Says string } `json:"rows"`
	}
	if err := yaml.Unmarshal(text, &table); err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, map[string]gitserver.Content{"a/cm.yaml": "1", "\u00fcn\u00ef \u00e7ode/cm.yaml": "1"}, gitcache.ShortenGap)
	w.commit("HEAD", map[string]gitserver.Content{"a/cm.yaml": "of a branch of that name"})
	w.mustRefresh()
	played := 0
	for _, row := range table.Rows {
		if row.Ref == "" {
			continue
		}
		played++
		if row.Ref == "HEAD" {
			w.setDefault("nope")
			w.unset("refs/heads/main")
			w.mustRefresh()
		}
		h := w.head(w.track(row.Ref, row.Folder), bad)
		if !strings.Contains(h.Error, row.Says) || h.ErrorCode != errcode.Unprocessable || h.Digest != "" {
			t.Errorf("%s: error %q (%s), want %q", row.What, h.Error, h.ErrorCode, row.Says)
		}
	}
	if played < 3 {
		t.Errorf("%d rows are about what is asked for", played)
	}
}
