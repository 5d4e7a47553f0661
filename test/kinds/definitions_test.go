package kinds

import (
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/axle-cd/axle/api/kinds"
)

func TestEveryKindHasARowAndEveryRowAKind(t *testing.T) {
	rows := map[string]bool{}
	for _, k := range kinds.All {
		if rows[k.Group+" "+k.Name] {
			t.Errorf("%s %s has two rows", k.Group, k.Name)
		}
		rows[k.Group+" "+k.Name] = true
		if k.Says == "" || !strings.HasSuffix(k.Says, ".") {
			t.Errorf("%s: %q is no sentence", k.Name, k.Says)
		}
		if k.Level != kinds.Full && len(k.NotActing) > 0 {
			t.Errorf("%s is %s and lists fields that do not act, but none of its fields acts", k.Name, k.Level)
		}
		if k.SchemaOnly && k.Level != kinds.Stored || k.NotOurs && !k.SchemaOnly {
			t.Errorf("%s is %s, schema-only: %v, not ours: %v", k.Name, k.Level, k.SchemaOnly, k.NotOurs)
		}
	}
	for _, d := range definitions(t) {
		if !rows[d.Spec.Group+" "+d.kind()] {
			t.Errorf("%s has a CRD and no row in api/kinds", d.kind())
		}
		delete(rows, d.Spec.Group+" "+d.kind())
	}
	for row := range rows {
		t.Errorf("%s has a row in api/kinds and no CRD", row)
	}
}

// A field without effect says so in its description and is in the table, never
// only one of the two.
func TestWhatDoesNotActSaysSo(t *testing.T) {
	for _, d := range definitions(t) {
		row := d.row()
		if row.Level != kinds.Full {
			continue
		}
		fields := d.fields()
		for _, path := range row.NotActing {
			if fields[path] == nil {
				t.Errorf("%s has no field %s", d.kind(), path)
			}
		}
		for path, field := range fields {
			says := regexp.MustCompile(`(D|d)oes\s+not\s+act`).MatchString(field.Description)
			if listed := slices.Contains(row.NotActing, path); says != listed {
				t.Errorf("%s %s: its text says that it does not act: %v; the table: %v", d.kind(), path, says, listed)
			}
		}
	}
}

func TestEveryFieldSaysWhatItMeans(t *testing.T) {
	for _, d := range definitions(t) {
		for path, field := range d.fields() {
			if field.Description == "" && path != "metadata" && !(field.Open && field.Type == "") {
				t.Errorf("%s %s has no description", d.kind(), path)
			}
		}
	}
}

// wellKnown are short names that other projects use.
var wellKnown = []string{"po", "svc", "ns", "no", "deploy", "rs", "sts", "ds", "cm", "ep", "ev", "ing", "netpol", "pdb", "pv", "pvc", "quota", "limits",
	"rc", "sa", "sc", "csr", "crd", "crds", "hpa", "cj", "pc", "cs", "gitrepo", "helmrepo", "hr", "ks", "ocirepo", "cl", "md", "ma", "ms", "cert",
	"cr", "app", "apps", "appset", "proj", "wf", "gtw", "gc", "gs", "refgrant", "sd", "kc"}

func TestShortNamesAreOneKindsAlone(t *testing.T) {
	taken := map[string]string{}
	for _, d := range definitions(t) {
		for _, name := range []string{d.Spec.Names.Plural, strings.ToLower(d.kind())} {
			taken[name] = d.kind()
		}
	}
	for _, d := range definitions(t) {
		if len(d.Spec.Names.ShortNames) != 1 || !strings.HasPrefix(d.Spec.Names.ShortNames[0], "ax") {
			t.Errorf("%s has the short names %q, want one that begins with ax", d.kind(), d.Spec.Names.ShortNames)
			continue
		}
		name := d.Spec.Names.ShortNames[0]
		if other := taken[name]; other != "" || slices.Contains(wellKnown, name) {
			t.Errorf("%s: the short name %s is taken (%s)", d.kind(), name, other)
		}
		taken[name] = d.kind()
	}
}

// `kubectl get axle` lists the kinds that act, `kubectl get axle-all` lists all.
func TestCategoriesFollowTheLevel(t *testing.T) {
	for _, d := range definitions(t) {
		want := []string{"axle-all"}
		if d.row().Level == kinds.Full {
			want = []string{"axle", "axle-all"}
		}
		if !slices.Equal(d.Spec.Names.Categories, want) {
			t.Errorf("%s is %s and has the categories %q, want %q", d.kind(), d.row().Level, d.Spec.Names.Categories, want)
		}
	}
}

func TestColumnsOfEveryKind(t *testing.T) {
	for _, d := range definitions(t) {
		columns := d.columns()
		for _, want := range []string{"Ready", "Readonly", "Age"} {
			if !slices.Contains(columns, want) && !d.row().Cluster {
				t.Errorf("%s prints %q, not %s", d.kind(), columns, want)
			}
		}
		fields := d.fields()
		for _, c := range d.Spec.Versions[0].AdditionalPrinterColumns {
			path, _, _ := strings.Cut(strings.TrimPrefix(c.JSONPath, "."), "[?")
			if fields[path] == nil && !strings.HasPrefix(path, "metadata.") {
				t.Errorf("%s prints %s, which is not one of its fields", d.kind(), c.JSONPath)
			}
		}
	}
}

// Every object of a kind that nothing in a cluster acts on says so from the start,
// although no program writes its status: by the default of the CRD.
func TestWhatIsNotImplementedHasTheConditionByDefault(t *testing.T) {
	for _, d := range definitions(t) {
		var want any
		if message := d.row().Unsupported(); message != "" {
			want = map[string]any{"conditions": []any{map[string]any{
				"type": "Supported", "status": "False", "reason": "NotImplemented", "message": message, "lastTransitionTime": "1970-01-01T00:00:00Z",
			}}}
		}
		var have any
		if status := d.root().Properties["status"]; status != nil {
			have = status.Default
		}
		if !reflect.DeepEqual(have, want) {
			t.Errorf("%s has the default status %v, want %v: its marker and its row in api/kinds differ", d.kind(), have, want)
		}
		if shown := slices.Contains(d.columns(), "Supported"); shown != (want != nil) {
			t.Errorf("%s prints the column Supported: %v", d.kind(), shown)
		}
	}
}

// An API server accepts CRDs of at most 1.5 MiB and reads all of them at every
// start. Most of their size is descriptions.
func TestDefinitionsAreSmall(t *testing.T) {
	total := 0
	for _, d := range definitions(t) {
		total += len(d.text)
		if len(d.text) > 128<<10 {
			t.Errorf("%s has %d bytes, at most 128 KiB", d.kind(), len(d.text))
		}
	}
	if total > 2<<20 {
		t.Errorf("all definitions have %d bytes, at most 2 MiB", total)
	}
	t.Logf("%d bytes in all", total)
}
