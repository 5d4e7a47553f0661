package output_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/axle-cd/axle/cli/output"
)

type thing struct {
	Name   string   `json:"name"`
	Health string   `json:"health"`
	Count  int64    `json:"count"`
	Tags   []string `json:"tags"`
	Age    string   `json:"age"`
}

func name(t thing) string { return t.Name }

var columns = []output.Column[thing]{
	{Title: "NAME", Text: name},
	{Title: "HEALTH", Text: func(t thing) string { return t.Health }},
	{Title: "AGE", Text: func(t thing) string { return t.Age }, Ages: true},
	{Title: "COUNT", Text: func(t thing) string { return fmt.Sprint(t.Count) }, Wide: true},
}

var things = []thing{{"web", "Healthy", 1_500_000, []string{"a"}, "5s"}, {"database", "", 2, nil, "3h"}}

func printed(t *testing.T, p output.Printer, items []thing) (out, errs string) {
	t.Helper()
	var o, e bytes.Buffer
	p.Out, p.Err = &o, &e
	if err := output.Check(p.Format); err != nil {
		t.Fatal(err)
	}
	if err := output.List(p, items, name, columns); err != nil {
		t.Fatal(err)
	}
	return o.String(), e.String()
}

// A table stays readable; what asks for all of it, or reads by a program, gets a long text whole.
func TestALongTextIsWholeWhereItIsAskedFor(t *testing.T) {
	long := strings.Repeat("word ", 60) + "end"
	items := []thing{{Name: "web", Health: long, Age: long}}
	last := []output.Column[thing]{columns[0], columns[1], columns[2]}
	for format, ends := range map[string]int{"table": 0, "wide": 1, "csv": 2} {
		var out bytes.Buffer
		if err := output.List(output.Printer{Out: &out, Err: &out, Format: format}, items, name, last); err != nil {
			t.Fatal(err)
		}
		if have := strings.Count(out.String(), "end"); have != ends {
			t.Errorf("%s has %d whole texts, want %d:\n%s", format, have, ends, out.String())
		}
	}
}

func TestEveryFormatOfAList(t *testing.T) {
	for title, tc := range map[string]struct {
		p    output.Printer
		want string
	}{
		"table":          {output.Printer{Format: "table"}, "NAME      HEALTH   AGE\nweb       Healthy  5s\ndatabase  -        3h\n"},
		"wide":           {output.Printer{Format: "wide"}, "NAME      HEALTH   AGE  COUNT\nweb       Healthy  5s   1500000\ndatabase  -        3h   2\n"},
		"no headers":     {output.Printer{Format: "table", NoHeaders: true}, "web       Healthy  5s\ndatabase  -        3h\n"},
		"quiet":          {output.Printer{Format: "table", Quiet: true}, "web\ndatabase\n"},
		"name":           {output.Printer{Format: "name"}, "web\ndatabase\n"},
		"quiet and data": {output.Printer{Format: "jsonpath={[0].name}", Quiet: true}, "web\n"},
		"jsonpath":       {output.Printer{Format: "jsonpath={[*].name}"}, "web database\n"},
		"jsonpath, bare": {output.Printer{Format: "jsonpath=[*].name"}, "web database\n"},
		"a range":        {output.Printer{Format: `jsonpath={range [*]}{.name}={.count}{"\n"}{end}`}, "web=1500000\ndatabase=2\n"},
		"a filter":       {output.Printer{Format: `jsonpath={[?(@.count>5)].name}`}, "web\n"},
		"a missing key":  {output.Printer{Format: `jsonpath={[*].none}`}, ""},
		"go template":    {output.Printer{Format: `go-template={{range .}}{{.name}} {{len .name}};{{end}}`}, "web 3;database 8;\n"},
		"coloured words": {output.Printer{Format: "table", NoHeaders: true, Colours: true}, "web       \x1b[32mHealthy\x1b[0m  5s\ndatabase  -        3h\n"},
		"json of all of it": {output.Printer{Format: "json"}, `[
  {
    "name": "web",
    "health": "Healthy",
    "count": 1500000,
    "tags": [
      "a"
    ],
    "age": "5s"
  },
  {
    "name": "database",
    "health": "",
    "count": 2,
    "tags": null,
    "age": "3h"
  }
]
`},
	} {
		t.Run(title, func(t *testing.T) {
			if out, errs := printed(t, tc.p, things); out != tc.want || errs != "" {
				t.Errorf("printed\n%s%s, want\n%s", out, errs, tc.want)
			}
		})
	}
}

func TestNothingIsAnArrayForPrograms(t *testing.T) {
	for format, want := range map[string]string{"json": "[]\n", "yaml": "[]\n", "name": "", "table": ""} {
		out, errs := printed(t, output.Printer{Format: format}, nil)
		if out != want || (errs == "nothing found\n") != (format == "table") {
			t.Errorf("-o %s prints %q and %q", format, out, errs)
		}
	}
}

func TestOneShowsItsFields(t *testing.T) {
	for format, want := range map[string]string{
		"table": "NAME:    web\nHEALTH:  Healthy\nAGE:     5s\n", "wide": "NAME:    web\nHEALTH:  Healthy\nAGE:     5s\nCOUNT:   1500000\n",
		"name": "web\n", "jsonpath=.health": "Healthy\n", "jsonpath=health": "Healthy\n", "go-template={{.count}}": "1500000\n",
	} {
		var out bytes.Buffer
		if err := output.One(output.Printer{Out: &out, Err: io.Discard, Format: format}, things[0], name, columns); err != nil || out.String() != want {
			t.Errorf("-o %s prints %q, want %q (%v)", format, out.String(), want, err)
		}
	}
}

func TestAWrongFormatIsNamed(t *testing.T) {
	for format, want := range map[string]string{"xml": "-o xml is not table, wide, json", "jsonpath={.name": "jsonpath", "go-template={{.name": "text/template", "": "is not table"} {
		if err := output.Check(format); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("-o %s: %v, want %q in it", format, err, want)
		}
	}
}

func TestCount(t *testing.T) {
	for want, got := range map[string]string{
		"0 services": output.Count(0, "service"), "1 service": output.Count(1, "service"), "2 services": output.Count(int32(2), "service"),
		"1 repository": output.Count(int64(1), "repository"), "3 repositories": output.Count(3, "repository"), "2 keys": output.Count(2, "key"),
		"2 stored checkpoints": output.Count(2, "stored checkpoint"),
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// A watched list prints a row when what it says changes, and not when it only
// grows older. Trouble that may end does not end it.
func TestWatchPrintsWhatChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		passing := errors.New("the hub restarts")
		readings := []func() ([]thing, error){
			func() ([]thing, error) {
				return []thing{{Name: "a", Health: "Healthy", Age: "1s"}, {Name: "b", Age: "1s"}}, nil
			},
			func() ([]thing, error) {
				return []thing{{Name: "a", Health: "Healthy", Age: "9s"}, {Name: "b", Age: "9s"}}, nil
			},
			func() ([]thing, error) { return nil, passing },
			func() ([]thing, error) { return nil, passing },
			func() ([]thing, error) { return []thing{{Name: "a", Health: "Degraded", Age: "20s"}}, nil },
			func() ([]thing, error) { cancel(); return nil, ctx.Err() },
		}
		var out, errs bytes.Buffer
		err := output.Watch(ctx, output.Printer{Out: &out, Err: &errs, Format: "table"}, output.Watched[thing]{
			Read: func(context.Context) ([]thing, error) {
				now := readings[0]
				readings = readings[1:]
				return now()
			},
			Again: func(err error) bool { return errors.Is(err, passing) },
			Name:  name, Columns: columns,
		})
		if want := "NAME  HEALTH   AGE\na     Healthy  1s\nb     -        1s\na     Degraded  20s\n"; err != nil || out.String() != want {
			t.Errorf("printed\n%s, want\n%s (%v)", out.String(), want, err)
		}
		if want := "the hub restarts; trying again\nb is gone\n"; errs.String() != want {
			t.Errorf("said %q, want %q", errs.String(), want)
		}
	})
}

func TestWatchEndsWithAnErrorThatStays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		refused := errors.New("refused")
		for n := range 2 {
			left := n
			err := output.Watch(t.Context(), output.Printer{Out: io.Discard, Err: io.Discard, Format: "json"}, output.Watched[thing]{
				Read: func(context.Context) ([]thing, error) {
					if left == 0 {
						return nil, refused
					}
					left--
					return things, nil
				},
				Name: name, Columns: columns,
			})
			if !errors.Is(err, refused) {
				t.Errorf("refused at reading %d: %v", n, err)
			}
		}
	})
}
