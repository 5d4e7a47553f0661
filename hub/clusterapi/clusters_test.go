package clusterapi_test

import (
	"context"
	"testing"

	"github.com/axle-cd/axle/hub/clusterapi"
	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/internal/errcode"
)

func TestAClusterMovesToProjectsOfItsTemplate(t *testing.T) {
	made := fleet.Origin{TemplateID: "ctp_a", Template: "eks"}
	for name, c := range map[string]struct {
		origin   fleet.Origin
		to       string
		projects []string
		refused  bool
	}{
		"one of the template's":       {made, "prj_lab", []string{"prj_shop", "prj_lab"}, false},
		"another one":                 {made, "prj_lab", []string{"prj_shop"}, true},
		"of a template that is gone":  {made, "prj_lab", nil, true},
		"the default one":             {made, fleet.DefaultProjectID, nil, false},
		"where it is":                 {made, "prj_shop", nil, false},
		"one that somebody else made": {fleet.Origin{}, "prj_lab", nil, false},
	} {
		s := clusterapi.New(clusterapi.Config{ProjectsOf: func(_ context.Context, origin fleet.Origin) ([]string, error) {
			if origin != c.origin {
				t.Errorf("%s: asked for %v", name, origin)
			}
			return c.projects, nil
		}})
		before := fleet.Cluster{ProjectID: "prj_shop", Origin: c.origin}
		after := before
		after.ProjectID = c.to
		if err := s.Moving(t.Context(), before, after); errcode.Is(err, errcode.Forbidden) != c.refused || (err == nil) == c.refused {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestVariablesAreThoseOfThePinnedCommit(t *testing.T) {
	s := clusterapi.New(clusterapi.Config{Template: func(_ context.Context, name string) (clusterapi.Registered, error) {
		if name != "eks" {
			return clusterapi.Registered{}, errcode.New(errcode.Conflict, "template %s was not read from Git", name)
		}
		return clusterapi.Registered{Name: name, Commit: "c0ffee", Files: map[string]string{"schema.json": `{"type": "object"}`, "template.yaml": "name: eks\n"}}, nil
	}})
	commit, schema, err := s.Variables(t.Context(), "eks")
	if commit != "c0ffee" || schema != `{"type": "object"}` || err != nil {
		t.Errorf("%q %q %v", commit, schema, err)
	}
	if _, schema, err := s.Variables(t.Context(), "stored"); !errcode.Is(err, errcode.Conflict) || schema != "" {
		t.Errorf("%q %v", schema, err)
	}
}
