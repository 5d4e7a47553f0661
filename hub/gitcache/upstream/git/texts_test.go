package git_test

import (
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/axle-cd/axle/hub/gitcache/upstream/git"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/test/gitserver"
)

// textOfTheField is a row of texts.yaml that is about the answer of a Git server.
type textOfTheField struct {
	What   string       `json:"what"`
	Code   errcode.Code `json:"code"`
	Says   string       `json:"says"`
	Also   string       `json:"also"`
	Wait   string       `json:"wait"`
	Answer *struct {
		Only   gitserver.Kind    `json:"only"`
		Status int               `json:"status"`
		Header map[string]string `json:"header"`
		Body   string            `json:"body"`
	} `json:"answer"`
}

// TestTextsOfTheField plays the rows of test/field/sources/texts.yaml that are about answers, in the
// listing and in the fetch.
func TestTextsOfTheField(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../../../test/field/sources/texts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var table struct {
		Rows []textOfTheField `json:"rows"`
	}
	if err := yaml.Unmarshal(text, &table); err != nil {
		t.Fatal(err)
	}
	played := 0
	for _, row := range table.Rows {
		if row.Answer == nil {
			continue
		}
		played++
		t.Run(row.What, func(t *testing.T) {
			t.Parallel()
			s := newGit(t, gitserver.Config{})
			srv, m := server(t, newUpstream(t, git.Config{}), git.Access{URL: s.URL(repo), Password: "secret"}), newRepository(t)
			f := gitserver.Fault{Status: row.Answer.Status, Body: row.Answer.Body, Header: http.Header{}}
			for name, value := range row.Answer.Header {
				if in, err := time.ParseDuration(strings.TrimPrefix(value, "+")); err == nil && value[0] == '+' {
					value = strconv.FormatInt(time.Now().Add(in).Unix(), 10)
				}
				f.Header.Set(name, value)
			}
			wait, _ := time.ParseDuration(row.Wait)
			for _, kind := range []gitserver.Kind{gitserver.Connect, gitserver.LsRefs, gitserver.Fetch} {
				if row.Answer.Only != "" && row.Answer.Only != kind {
					continue
				}
				f.Only = kind
				s.SetFault(repo, f)
				_, err := pull(t.Context(), srv, m)
				if !errcode.Is(err, row.Code) || !strings.Contains(err.Error(), row.Says) || !strings.Contains(err.Error(), row.Also) || strings.Contains(err.Error(), "secret ") {
					t.Errorf("%s: %v (%s), want %q (%s)", kind, err, errcode.Of(err), row.Says, row.Code)
				}
				if got := errcode.RetryAfter(err); got > wait || got < wait/2 { // a date comes nearer while other tests run
					t.Errorf("%s: wait %v, want %v", kind, got, wait)
				}
			}
		})
	}
	if played < 5 {
		t.Errorf("%d rows are about answers", played)
	}
}
