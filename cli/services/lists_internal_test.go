package services

import (
	"maps"
	"strings"
	"testing"
)

func TestSourcesOfAService(t *testing.T) {
	for text, want := range map[string]string{
		"path=a,repo=fleet,ref=main,folder=b":          "",
		"path=a,url=https://charts.example.test/x?a=b": "",
		"path=a,url=https://x/?a=1,b=2":                `"b=2" is not one of`,
		"path=a,path=b":                                "path= twice",
		"path":                                         `"path" is not one of`,
		"":                                             `"" is not one of`,
	} {
		got, err := parseSource(text)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, %v; want %q", text, got, err, want)
		}
	}
	got, err := parseSource("path=a,repo=fleet,ref=main,folder=b=c")
	if err != nil || got.GetPath() != "a" || got.GetRepository() != "fleet" || got.GetGit().GetRef() != "main" || got.GetGit().GetFolder() != "b=c" {
		t.Errorf("%v, %v", got, err)
	}
}

func TestClustersByTags(t *testing.T) {
	for text, want := range map[string]map[string]string{
		"tier=prod":           {"tier": "prod"},
		"tier=prod,region=eu": {"tier": "prod", "region": "eu"},
		"tier=":               {"tier": ""},
		"tier=a=b":            {"tier": "a=b"},
		"tier=prod,eu":        nil,
		"tier=a,tier=b":       nil,
		"=a":                  nil,
	} {
		got, err := (&selector{cluster: text}).tags()
		if (err == nil) != (want != nil) || !maps.Equal(got, want) {
			t.Errorf("%q: %v, %v; want %v", text, got, err, want)
		}
	}
	if got, err := (&selector{cluster: "edge-1"}).tags(); got != nil || err != nil {
		t.Errorf("a name: %v, %v", got, err)
	}
}

// The hub's own sources have digests for commits: a table with them was 71 characters wider.
func TestTablesOfServicesHaveShortRevisions(t *testing.T) {
	digest := "sha256:" + strings.Repeat("1f", 32)
	for _, c := range serviceColumns() {
		for _, v := range []serviceView{{AppliedRevision: digest, DesiredRevision: digest}, {AppliedRevision: digest, DesiredRevision: digest, PinnedRevision: 3}} {
			if got := c.Text(v); strings.Contains(got, "1f1f1f1f1f") {
				t.Errorf("%s shows %s", c.Title, got)
			}
		}
	}
}
