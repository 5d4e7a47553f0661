// Package plan is what an apply of manifests would change on the hub: one object after
// the other, field by field. It shows a plan as text, and is the data that -o json and
// -o yaml print.
//
// It makes no calls: cli/apply makes plans, cli/diff shows them. Values of secrets are
// never in a plan: a field of a secret says only whether the hub has one and whether the
// files give one.
package plan

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/axle-cd/axle/cli/diffview"
	"github.com/axle-cd/axle/internal/jsondiff"
	"github.com/axle-cd/axle/internal/plain"
	"github.com/axle-cd/axle/internal/unified"
)

// Options are the arguments of an apply.
type Options struct {
	Files    []string
	Set      string
	Prune    bool
	TakeOver bool
	// SkipOthers leaves out objects that are not for the hub.
	SkipOthers bool
}

// Maker makes a plan. It writes nothing to the hub.
type Maker func(context.Context, Options) (Plan, error)

// Action is what would be done with an object.
type Action string

// The actions. Refused is an object that the hub would not take; Reason says why.
const (
	Create    Action = "create"
	Update    Action = "update"
	Unchanged Action = "unchanged"
	Delete    Action = "delete"
	Refused   Action = "refused"
)

var actions = []Action{Create, Update, Delete, Refused, Unchanged}

// signs begin the lines of the actions.
var signs = map[Action]string{Create: "+", Update: "~", Delete: "-", Refused: "!", Unchanged: " "}

// What stands for the value of a secret.
const (
	Stored = "(stored)"
	Given  = "(given)"
)

// Plan is what an apply would change.
type Plan struct {
	Summary map[Action]int `json:"summary"`
	Objects []Object       `json:"objects"`
	// LeftOut is what was not compared, one sentence each.
	LeftOut []string `json:"leftOut"`
	// Live is what would change in the clusters, when that was asked for.
	Live []diffview.View `json:"live,omitempty"`
}

// Object is what would be done with one object.
type Object struct {
	Kind   string `json:"kind"`
	Name   string `json:"name"`
	Where  string `json:"where"`
	Action Action `json:"action"`
	// Reason is why it is refused, or what could not be checked.
	Reason    string   `json:"reason"`
	Fields    []Field  `json:"fields"`
	NotActing []string `json:"notActing"`
}

// Field is a field that would change.
type Field = jsondiff.Change

// Add adds an object.
func (p *Plan) Add(o Object) {
	if p.Summary == nil {
		p.Summary = map[Action]int{}
	}
	if o.Fields == nil {
		o.Fields = []Field{}
	}
	p.Summary[o.Action]++
	p.Objects = append(p.Objects, o)
}

// Differs reports whether an apply would change something.
func (p Plan) Differs() bool {
	return p.Summary[Create]+p.Summary[Update]+p.Summary[Delete] > 0 || slices.ContainsFunc(p.Live, diffview.View.Differs)
}

// Failed reports whether something was refused or could not be compared.
func (p Plan) Failed() bool {
	return p.Summary[Refused] > 0 || slices.ContainsFunc(p.Live, func(v diffview.View) bool { return v.Error != "" })
}

// Write writes the plan for people. Objects that stay as they are are only counted.
func (p Plan) Write(w io.Writer, coloured bool) {
	for _, o := range p.Objects {
		if o.Action != Unchanged {
			o.write(w, coloured)
		}
	}
	diffview.WriteAll(w, p.Live, ", in the cluster", coloured)
	for _, text := range p.LeftOut {
		fmt.Fprintf(w, "# not compared: %s\n", plain.Line(text, 0))
	}
	var counts []string
	for _, action := range actions {
		if n := p.Summary[action]; n > 0 || action == Unchanged {
			counts = append(counts, fmt.Sprintf("%d %s", n, action))
		}
	}
	fmt.Fprintf(w, "# %s\n", strings.Join(counts, ", "))
}

var colours = map[Action]string{Create: "32", Update: "33", Delete: "31", Refused: "31"}

func (o Object) write(w io.Writer, coloured bool) {
	line := fmt.Sprintf("%s %s %s/%s", signs[o.Action], o.Action, o.Kind, o.Name)
	if line = plain.Line(line, 0); coloured {
		line = "\x1b[" + colours[o.Action] + "m" + line + "\x1b[0m"
	}
	if o.Where != "" {
		line += "  # " + plain.Line(o.Where, 0)
	}
	fmt.Fprintln(w, line)
	if o.Reason != "" {
		fmt.Fprintf(w, "    %s\n", plain.Line(o.Reason, 0))
	}
	for _, f := range o.Fields {
		writeField(w, f, coloured)
	}
}

// writeField writes a field as old -> new, and a text of several lines as a patch.
func writeField(w io.Writer, f Field, coloured bool) {
	path := plain.Line(f.Path, 0)
	before, wasText := f.Old.(string)
	after, isText := f.New.(string)
	if (wasText || f.Old == nil) && (isText || f.New == nil) && strings.Contains(before+after, "\n") {
		fmt.Fprintf(w, "    %s:\n", path)
		diffview.Patch(w, "      ", unified.Hunks(before, after), coloured)
		return
	}
	fmt.Fprintf(w, "    %s: %s -> %s\n", path, shown(f.Old), shown(f.New))
}

func shown(value any) string {
	switch value {
	case nil:
		return "(unset)"
	case Stored, Given:
		return value.(string)
	}
	text, err := json.Marshal(value)
	if err != nil {
		return "?"
	}
	return plain.Line(string(text), 0)
}
