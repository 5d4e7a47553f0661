package managed_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/axle-cd/axle/hub/managed"
	"github.com/axle-cd/axle/internal/errcode"
)

var (
	nobody    = managed.Manager{}
	cli       = managed.Manager{Tool: managed.CLI}
	console   = managed.Manager{Tool: managed.Console}
	terraform = managed.Manager{Tool: managed.Terraform, ID: "default"}
	other     = managed.Manager{Tool: managed.Terraform, ID: "network"}
	operator  = managed.Manager{Tool: managed.Operator, ID: "0b7c/ServiceDeployment.deployments.plural.sh/platform/web"}
	set       = managed.Manager{Tool: managed.Apply, ID: "fleet"}
	hub       = managed.Manager{Tool: managed.Hub, ID: "global-web"}
)

// TestDecide is the table of docs/adr/0079.
func TestDecide(t *testing.T) {
	refused := managed.Manager{Tool: "refused"}
	for _, row := range []struct {
		name                  string
		current, caller       managed.Manager
		without, withTakeOver managed.Manager
	}{
		{"the same: nobody", nobody, nobody, nobody, nobody},
		{"the same: manual", cli, cli, cli, cli},
		{"the same: declarative", operator, operator, operator, operator},
		{"the same: hub", hub, hub, hub, hub},

		{"none, manual", nobody, cli, cli, cli},
		{"manual, manual", cli, console, cli, cli},
		{"manual, the hub's own code", console, nobody, console, console},

		{"none, declarative", nobody, terraform, refused, terraform},
		{"manual, declarative", console, set, refused, set},
		{"none, hub", nobody, hub, refused, hub},
		{"manual, hub", cli, hub, refused, hub},

		{"declarative, manual", operator, cli, refused, cli},
		{"declarative, console", set, console, refused, console},
		{"declarative, the hub's own code", set, nobody, refused, nobody},

		{"declarative, another tool", terraform, operator, refused, operator},
		{"declarative, another id", terraform, other, refused, other},
		{"declarative, hub", operator, hub, refused, hub},

		{"hub, none", hub, nobody, refused, refused},
		{"hub, manual", hub, cli, refused, refused},
		{"hub, declarative", hub, operator, refused, refused},
		{"hub, another of the hub", hub, managed.Manager{Tool: managed.Hub, ID: "global-shop"}, refused, refused},
	} {
		for takeOver, want := range map[bool]managed.Manager{false: row.without, true: row.withTakeOver} {
			next, err := managed.Decide(row.current, row.caller, takeOver)
			if want == refused {
				var reason *managed.Refused
				if !errors.As(err, &reason) || reason.By != row.current || next != row.current {
					t.Errorf("%s, take over %v: %v, %v", row.name, takeOver, next, err)
				}
				continue
			}
			if err != nil || next != want {
				t.Errorf("%s, take over %v: %v, %v; want %v", row.name, takeOver, next, err, want)
			}
		}
	}
}

func TestConflictSaysWhoManagesAndWhatToDo(t *testing.T) {
	for want, row := range map[string]struct{ current, caller managed.Manager }{
		"service edge-1/web is managed by the operator (ServiceDeployment platform/web): change it there, or take it over with --take-over":               {operator, cli},
		"service edge-1/web is managed by the operator (Project web): change it there, or take it over with terraform import":                             {managed.Manager{Tool: managed.Operator, ID: "0b7c/Project.deployments.plural.sh//web"}, terraform},
		"service edge-1/web is managed by Terraform (manager default): change it there, or take it over with --take-over":                                 {terraform, set},
		"service edge-1/web is managed by axle apply (set fleet): change it there, or take it over with the annotation axle-cd.github.io/adopt: \"true\"": {set, operator},
		"service edge-1/web is managed by people (CLI): take it over with terraform import":                                                               {cli, terraform},
		"service edge-1/web is managed by nobody: take it over with --take-over":                                                                          {nobody, set},
		"service edge-1/web is managed by the hub (global-web): change the global service or managed namespace instead":                                   {hub, cli},
	} {
		ctx := managed.WithCaller(t.Context(), managed.Caller{By: row.caller})
		next, err := managed.Write(ctx, "service edge-1/web", row.current, true)
		var reason *managed.Refused
		if errcode.Of(err) != errcode.Conflict || errcode.Message(err) != want || next != row.current || !errors.As(err, &reason) {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
}

func TestWriteThatChangesNothingIsAllowed(t *testing.T) {
	ctx := managed.WithCaller(t.Context(), managed.Caller{By: cli})
	for _, current := range []managed.Manager{nobody, operator, hub} {
		if next, err := managed.Write(ctx, "service edge-1/web", current, false); err != nil || next != current {
			t.Errorf("%v: %v, %v", current, next, err)
		}
	}
	ctx = managed.WithCaller(t.Context(), managed.Caller{By: terraform, TakeOver: true})
	if next, err := managed.Write(ctx, "service edge-1/web", cli, false); err != nil || next != terraform {
		t.Errorf("an import: %v, %v", next, err)
	}
	if _, err := managed.Write(ctx, "service edge-1/web", hub, false); !errcode.Is(err, errcode.Conflict) {
		t.Errorf("an import of what the hub manages: %v", err)
	}
}

func TestCallersThatCannotBe(t *testing.T) {
	for _, good := range []managed.Manager{cli, console, terraform, operator, set} {
		if err := good.Check(); err != nil {
			t.Errorf("%v: %v", good, err)
		}
	}
	for want, bad := range map[string]managed.Manager{
		"management.by.tool: hub is for":          hub,
		"management.by.tool: \"\" is not known":   nobody,
		"management.by.tool: \"helm\" is not":     {Tool: "helm", ID: "a"},
		"management.by.id: is not for":            {Tool: managed.CLI, ID: "ann"},
		"management.by.id: is missing":            {Tool: managed.Terraform},
		"management.by.id: has 501 bytes":         {Tool: managed.Apply, ID: strings.Repeat("a", 501)},
		"management.by.id: has control":           {Tool: managed.Apply, ID: "a\nb"},
		"management.by.id: has control character": {Tool: managed.Operator, ID: "a\xff"},
	} {
		if err := bad.Check(); !errcode.Is(err, errcode.Invalid) || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

func TestTookOver(t *testing.T) {
	if got := managed.TookOver(operator, cli); got != "taken over by people (CLI) from the operator (ServiceDeployment platform/web)" {
		t.Error(got)
	}
	if got := managed.TookOver(nobody, set); got != "taken over by axle apply (set fleet) from nobody" {
		t.Error(got)
	}
	if got := managed.TookOver(nobody, console) + managed.TookOver(set, set); got != "" {
		t.Error(got)
	}
}

func TestFacts(t *testing.T) {
	if facts := managed.Facts(t.Context()); facts != nil {
		t.Error(facts)
	}
	ctx := managed.WithCaller(t.Context(), managed.Caller{By: terraform, TakeOver: true})
	if _, err := managed.Write(ctx, "service edge-1/web", terraform, true); err != nil || len(managed.Facts(ctx)) != 1 {
		t.Errorf("%v, %v", managed.Facts(ctx), err)
	}
	if _, err := managed.Write(ctx, "service edge-1/web", nobody, true); err != nil {
		t.Error(err)
	}
	if facts := managed.Facts(ctx); facts["manager"] != "terraform default" || facts["taken_over_from"] != "none" {
		t.Error(facts)
	}
}

func TestFilter(t *testing.T) {
	for filter, want := range map[string][]managed.Manager{
		"":          {nobody, cli, console, terraform, operator, hub},
		"none":      {nobody},
		"terraform": {terraform, other},
		"hub":       {hub},
	} {
		if err := managed.Filter(filter); err != nil {
			t.Errorf("%q: %v", filter, err)
		}
		for _, m := range want {
			if !m.Selects(filter) {
				t.Errorf("%q leaves out %v", filter, m)
			}
		}
		if set.Selects(filter) != (filter == "") {
			t.Errorf("%q is wrong about %v", filter, set)
		}
	}
	if err := managed.Filter("helm"); !errcode.Is(err, errcode.Invalid) {
		t.Error(err)
	}
}
