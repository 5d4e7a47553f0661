package confirm_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/axle-cd/axle/cli/confirm"
	"github.com/axle-cd/axle/internal/errcode"
)

func TestOnlyYesGoesOn(t *testing.T) {
	for answer, goes := range map[string]bool{"y\n": true, "Yes\n": true, " y \r\n": true, "y": true, "n\n": false, "\n": false, "": false, "yesterday\n": false, "edge-1/web\n": false} {
		var errs bytes.Buffer
		err := confirm.Question{Terminal: true, In: strings.NewReader(answer), Err: &errs, Text: "Delete edge-1/web", Command: "axle services delete edge-1/web --yes"}.Ask()
		if (err == nil) != goes || !strings.HasPrefix(errs.String(), "Delete edge-1/web? [y/N] ") {
			t.Errorf("%q: %v, asked %q", answer, err, errs.String())
		}
		if err != nil && (!errcode.Is(err, errcode.Invalid) || !strings.HasSuffix(err.Error(), ": axle services delete edge-1/web --yes")) {
			t.Errorf("%q: %v does not say how", answer, err)
		}
	}
}

func TestAWordIsTypedAsItIs(t *testing.T) {
	for answer, goes := range map[string]bool{"shop-1\n": true, " shop-1 \n": true, "y\n": false, "yes\n": false, "Shop-1\n": false, "shop-10\n": false, "\n": false, "": false} {
		var errs bytes.Buffer
		err := confirm.Question{Terminal: true, In: strings.NewReader(answer), Err: &errs, Text: "Destroy shop-1", Word: "shop-1", Command: "axle clusters destroy shop-1 --yes"}.Ask()
		if (err == nil) != goes || !strings.HasPrefix(errs.String(), "Destroy shop-1? Type shop-1 to confirm: ") {
			t.Errorf("%q: %v, asked %q", answer, err, errs.String())
		}
	}
	if err := (confirm.Question{Terminal: true, Yes: true, In: strings.NewReader("n\n"), Err: &bytes.Buffer{}, Word: "shop-1"}).Ask(); err != nil {
		t.Error(err)
	}
}

func TestNobodyIsAskedWithoutNeed(t *testing.T) {
	for name, q := range map[string]confirm.Question{"no terminal": {}, "yes": {Terminal: true, Yes: true}} {
		var errs bytes.Buffer
		q.In, q.Err = strings.NewReader("n\n"), &errs
		if err := q.Ask(); err != nil || errs.Len() != 0 {
			t.Errorf("%s: %v, asked %q", name, err, errs.String())
		}
	}
}

func TestALineIsWhatAShellReads(t *testing.T) {
	got := confirm.Line([]string{"axle", "groups", "delete", "web team", "it's", "", "--yes"})
	if want := `axle groups delete 'web team' 'it'\''s' '' --yes`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
