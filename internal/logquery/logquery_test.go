package logquery_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/logquery"
	"github.com/axle-cd/axle/internal/telemetry"
)

// The answers of a real store, and the table of evasions, are in test/stores.

func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"_time":"2026-11-29T20:00:00Z","_msg":"x","namespace":"mine"}`+"\n"), false)
	f.Add([]byte(`{"status":"success","data":{"resultType":"streams","result":[{"stream":{"namespace":"mine"},"values":[["1","x"]]}]}}`), true)
	f.Add([]byte(`<html>`), true)
	f.Fuzz(func(t *testing.T, text []byte, loki bool) {
		s := logquery.Store{Type: telemetry.VictoriaLogs, Label: "namespace", Namespaces: []string{"mine"}}
		if loki {
			s.Type = telemetry.Loki
		}
		r, err := s.Decode(bytes.NewReader(text))
		if err != nil && errcode.Of(err) == errcode.Internal {
			t.Error(err)
		}
		for _, l := range r.Lines {
			if l.Namespace != "mine" || len(l.Text) > 3*16<<10 {
				t.Errorf("%+v", l)
			}
		}
	})
}

func TestBrokenAnswers(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"a page":           "<!DOCTYPE html>\n<html>",
		"a vector":         `{"status":"success","data":{"resultType":"vector","result":[]}}`,
		"lines of no list": `{"data":{"resultType":"streams","result":{}}}`,
		"a time of words":  `{"data":{"resultType":"streams","result":[{"stream":{},"values":[["now","x"]]}]}}`,
		"half of it":       `{"data":{"resultType":"streams","result":[{"stream":{}`,
	} {
		of := logquery.Store{Type: telemetry.Loki, Label: "namespace", Everything: true}
		if _, err := of.Decode(strings.NewReader(text)); !errcode.Is(err, errcode.Unavailable) {
			t.Errorf("%s: %v", name, err)
		}
	}
	of := logquery.Store{Type: telemetry.VictoriaLogs, Label: "namespace", Everything: true}
	for _, text := range []string{"<html>", `{"_time":"now"}`, "[1]"} {
		if _, err := of.Decode(strings.NewReader(text)); !errcode.Is(err, errcode.Unavailable) {
			t.Errorf("%q: %v", text, err)
		}
	}
	if _, err := of.Decode(iotest.ErrReader(errors.New("cut"))); !errcode.Is(err, errcode.Unavailable) {
		t.Error(err)
	}
	long := `{"_time":"2026-11-29T20:00:00Z","_msg":"` + strings.Repeat("x", 1<<20) + `"}`
	r, err := of.Decode(strings.NewReader(long))
	if err != nil || len(r.Lines) != 1 || r.Lines[0].Cut != 1<<20-16<<10 {
		t.Errorf("%v %d", err, len(r.Lines))
	}
}

// TestALineOf10MBHidesNoOthers: one of them is not the end of a search.
func TestALineOf10MBHidesNoOthers(t *testing.T) {
	t.Parallel()
	huge := strings.Repeat("x", 10<<20)
	of := logquery.Store{Type: telemetry.VictoriaLogs, Label: "namespace", Everything: true}
	line := func(text string) string { return `{"_time":"2026-11-29T20:00:00Z","_msg":"` + text + `"}` + "\n" }
	r, err := of.Decode(strings.NewReader(line("before") + line(huge) + line(`\u001b[31mafter\u0007`)))
	if err != nil || len(r.Lines) != 2 || r.Lines[1].Text != "after" || r.Long != 1 {
		t.Errorf("%v, %d lines, %d too long", err, len(r.Lines), r.Long)
	}
	of.Type = telemetry.Loki
	r, err = of.Decode(strings.NewReader(`{"data":{"resultType":"streams","result":[{"stream":{},"values":[["1","` + huge + `"],["2","after\ud800"]]}]}}`))
	if err != nil || len(r.Lines) != 2 || r.Lines[0].Cut != 10<<20-16<<10 || r.Lines[1].Text != "after\ufffd" {
		t.Errorf("%v, %d lines", err, len(r.Lines))
	}
}
