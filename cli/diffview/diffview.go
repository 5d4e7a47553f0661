// Package diffview shows what an apply would change: as a patch for people and
// patch tools, and as the data that -o json and -o yaml print. It makes no
// calls; cli/services passes it the hub's answers.
package diffview

import (
	"fmt"
	"io"
	"strings"
	"time"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/cli/output"
	"github.com/axle-cd/axle/internal/plain"
	"github.com/axle-cd/axle/internal/unified"
)

// View is a diff of one service.
type View struct {
	Cluster string `json:"cluster"`
	Name    string `json:"name"`
	// Of is what was compared: "desired", "ref X", "revision N", "files".
	Of             string `json:"of"`
	Revision       int64  `json:"revision"`
	SourceRevision string `json:"sourceRevision"`
	// DesiredRevision is the revision that should run now.
	DesiredRevision string       `json:"desiredRevision"`
	MadeAt          string       `json:"madeAt"`
	Error           string       `json:"error"`
	SameFiles       bool         `json:"sameFiles"`
	Differences     []Difference `json:"differences"`
	Unchanged       int32        `json:"unchanged"`
	LeftOut         int32        `json:"leftOut"`
}

// Difference is one object.
type Difference struct {
	Group     string `json:"group"`
	Version   string `json:"version"`
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Action is create, update, recreate, delete, run, refuse, hold or leave.
	Action  string `json:"action"`
	Desired string `json:"desired"`
	Live    string `json:"live"`
	Message string `json:"message"`
}

// Drift is a field that differs from what was applied.
type Drift struct {
	Path    string `json:"path"`
	Manager string `json:"manager"`
	// Action is healed, reported or waiting.
	Action string `json:"action"`
}

// DriftOf returns the fields as views.
func DriftOf(all []*hubv1.DriftedField) []Drift {
	var views []Drift
	for _, f := range all {
		views = append(views, Drift{f.GetPath(), f.GetManager(), f.GetAction()})
	}
	return views
}

// Fleet is a diff of many services.
type Fleet struct {
	Repository string  `json:"repository"`
	Ref        string  `json:"ref"`
	Summary    Summary `json:"summary"`
	Services   []View  `json:"services"`
}

// Summary counts services and the actions on their objects.
type Summary struct {
	Services int            `json:"services"`
	Same     int            `json:"same"`
	Differ   int            `json:"differ"`
	Failed   int            `json:"failed"`
	Objects  map[string]int `json:"objects"`
}

// Of returns the view of an answer of the hub.
func Of(ref *hubv1.ServiceRef, of string, d *hubv1.ServiceDiff) View {
	v := View{Cluster: ref.GetCluster(), Name: ref.GetName(), Of: of, Revision: d.GetRevision(), SourceRevision: d.GetSourceRevision(), DesiredRevision: d.GetDesiredRevision(),
		Error: d.GetError(), SameFiles: d.GetSameFiles(), Differences: []Difference{}, Unchanged: d.GetUnchanged(), LeftOut: d.GetLeftOut()}
	if at := d.GetMadeAt(); at != 0 {
		v.MadeAt = time.UnixMicro(at).UTC().Format(time.RFC3339)
	}
	for _, one := range d.GetDifferences() {
		v.Differences = append(v.Differences, Difference{one.GetGroup(), one.GetVersion(), one.GetKind(), one.GetNamespace(), one.GetName(),
			one.GetAction(), one.GetDesired(), one.GetLive(), one.GetMessage()})
	}
	return v
}

// Differs reports whether something would change.
func (v View) Differs() bool { return len(v.Differences)+int(v.LeftOut) > 0 }

// Add counts a service in the summary.
func (f *Fleet) Add(v View) {
	f.Services = append(f.Services, v)
	if f.Summary.Objects == nil {
		f.Summary.Objects = map[string]int{}
	}
	f.Summary.Services++
	switch {
	case v.Error != "":
		f.Summary.Failed++
	case v.Differs():
		f.Summary.Differ++
	default:
		f.Summary.Same++
	}
	for _, d := range v.Differences {
		f.Summary.Objects[d.Action]++
	}
}

// Write writes the diffs of all services that differ, then the summary.
func (f Fleet) Write(w io.Writer, coloured bool) {
	WriteAll(w, f.Services, "", coloured)
	fmt.Fprintf(w, "# %s of %s at %s: %d differ, %d unchanged, %d could not be compared\n",
		output.Count(f.Summary.Services, "service"), plain.Line(f.Repository, 0), plain.Line(f.Ref, 0), f.Summary.Differ, f.Summary.Same, f.Summary.Failed)
	for _, action := range []string{"create", "update", "recreate", "delete", "run", "refuse", "hold", "leave"} {
		if n := f.Summary.Objects[action]; n > 0 {
			fmt.Fprintf(w, "#   %s: %d\n", action, n)
		}
	}
}

// WriteAll writes the diffs that have differences or failed, each below its service and
// where it is.
func WriteAll(w io.Writer, views []View, where string, coloured bool) {
	for _, v := range views {
		switch name := plain.Line(v.Cluster+"/"+v.Name, 0) + where; {
		case v.Error != "":
			fmt.Fprintf(w, "# === %s: no diff: %s\n", name, plain.Line(v.Error, 0))
		case v.Differs():
			fmt.Fprintf(w, "# === %s\n", name)
			v.Write(w, coloured)
		}
	}
}

// colour paints a line, without what a terminal would obey.
func colour(coloured bool, code, text string) string {
	if text = plain.Text(text, 0); !coloured || code == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// colours are those of lines, by their first character.
var colours = map[byte]string{'-': "31", '+': "32", '@': "36"}

// Patch writes hunks of package unified.
func Patch(w io.Writer, indent string, hunks []string, coloured bool) {
	for _, line := range hunks {
		fmt.Fprintln(w, indent+colour(coloured, colours[line[0]], line))
	}
}

// Write writes a diff in the format of patch tools. What that format cannot
// express stands in lines that begin with "#".
func (v View) Write(w io.Writer, coloured bool) {
	for _, d := range v.Differences {
		name := strings.TrimPrefix(d.Namespace+"/"+d.Name, "/")
		note := fmt.Sprintf("# %s %s %s", d.Action, d.Kind, name)
		if d.Message != "" {
			note += ": " + strings.ReplaceAll(d.Message, "\n", " ")
		}
		fmt.Fprintln(w, colour(coloured, "1", note))
		hunks := unified.Hunks(d.Live, d.Desired)
		if len(hunks) == 0 {
			continue
		}
		file := strings.TrimPrefix(d.Group+"/", "/") + d.Kind + "/" + name
		fmt.Fprintln(w, colour(coloured, "1", "--- live/"+file))
		fmt.Fprintln(w, colour(coloured, "1", "+++ desired/"+file))
		Patch(w, "", hunks, coloured)
	}
	what := v.Of
	if v.Revision > 0 && v.Of == "desired" {
		what = fmt.Sprintf("revision %d", v.Revision)
	}
	if v.SourceRevision != "" && v.Of != "files" {
		what += " (" + v.SourceRevision + ")"
	}
	fmt.Fprintf(w, "# %s: %d differ, %d are up to date\n", plain.Line(what, 0), len(v.Differences)+int(v.LeftOut), v.Unchanged)
	if v.LeftOut > 0 {
		fmt.Fprintf(w, "# %d more differences are not shown\n", v.LeftOut)
	}
}
