package apidocs

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/api/object"
)

var update = flag.Bool("update", false, "write the pages anew")

const (
	folder = "../../docs/api/"
	// mark separates the handwritten head of the index from the generated part.
	mark = "<!-- make generate writes what follows. -->\n"
	// shared is the page of messages that several services use.
	shared = "messages.md"
)

// right is what a call needs, by what hub/console/access.go calls it.
var right = map[string]string{
	"open":             "none, not even a token",
	"ActionSelf":       "any valid token",
	"ActionSelfChange": "any valid token with the scope write",
	"ActionRead":       "`read`",
	"ActionWrite":      "`write`",
	"ActionCreate":     "`create`",
	"ActionGit":        "`git`",
	"ActionAdmin":      "`admin`",
}

var accessLine = regexp.MustCompile(`(?m)^\s+hubv1connect\.(\w+)Procedure:\s+(?:identity\.)?(\w+),`)

// rights returns the right of each call, by Service and Call as one word.
func rights(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile("../../hub/console/access.go")
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for _, m := range accessLine.FindAllStringSubmatch(string(text), -1) {
		found[m[1]] = right[m[2]]
	}
	for _, k := range object.Stored() {
		found[k.Calls.Service+k.Calls.List], found[k.Calls.Service+k.Calls.Get] = right["ActionRead"], right["ActionRead"]
		write := right["Action"+strings.ToUpper(k.Storage.Write[:1])+k.Storage.Write[1:]]
		found[k.Calls.Service+k.Calls.Update], found[k.Calls.Service+k.Calls.Delete] = write, write
	}
	return found
}

// definitions returns the files of the API.
func definitions() (all []protoreflect.FileDescriptor) {
	protoregistry.GlobalFiles.RangeFilesByPackage("axle.hub.v1", func(file protoreflect.FileDescriptor) bool {
		all = append(all, file)
		return true
	})
	slices.SortFunc(all, func(a, b protoreflect.FileDescriptor) int { return strings.Compare(a.Path(), b.Path()) })
	return all
}

// services returns those of the API, sorted by name.
func services() []protoreflect.ServiceDescriptor {
	var all []protoreflect.ServiceDescriptor
	for _, file := range definitions() {
		for i := range file.Services().Len() {
			all = append(all, file.Services().Get(i))
		}
	}
	slices.SortFunc(all, func(a, b protoreflect.ServiceDescriptor) int {
		return strings.Compare(string(a.Name()), string(b.Name()))
	})
	return all
}

func methods(s protoreflect.ServiceDescriptor) []protoreflect.MethodDescriptor {
	var all []protoreflect.MethodDescriptor
	for i := range s.Methods().Len() {
		all = append(all, s.Methods().Get(i))
	}
	return all
}

// reference knows where each message is described.
type reference struct {
	rights   map[string]string
	examples map[string]example
	// page of a message; those of one call alone are described with it, and have none.
	page map[protoreflect.Name]string
}

func newReference(t *testing.T) *reference {
	t.Helper()
	r := &reference{rights: rights(t), examples: map[string]example{}, page: map[protoreflect.Name]string{}}
	for _, e := range examples(t) {
		r.examples[e.call] = e
	}
	used := map[protoreflect.Name]bool{}
	for _, s := range services() {
		within := map[protoreflect.Name]int{}
		for _, m := range methods(s) {
			reach(m.Input(), within)
			reach(m.Output(), within)
		}
		for name, times := range within {
			switch {
			case used[name]: // a request may also be a part of another service's
				r.page[name] = shared
			case times > 1 || !ofOneCall(name):
				r.page[name] = pageOf(s)
			}
			used[name] = true
		}
	}
	return r
}

// ofOneCall reports whether a message is named for one call.
func ofOneCall(name protoreflect.Name) bool {
	return strings.HasSuffix(string(name), "Request") || strings.HasSuffix(string(name), "Response")
}

func pageOf(s protoreflect.ServiceDescriptor) string {
	return strings.ToLower(string(s.Name())) + ".md"
}

// reach counts how often a message is used, and the messages of its fields once.
func reach(m protoreflect.MessageDescriptor, found map[protoreflect.Name]int) {
	found[m.Name()]++
	if found[m.Name()] > 1 {
		return
	}
	for i := range m.Fields().Len() {
		if f := valueOf(m.Fields().Get(i)); f.Message() != nil {
			reach(f.Message(), found)
		}
	}
}

// valueOf returns the field itself, or what a map has as its values.
func valueOf(f protoreflect.FieldDescriptor) protoreflect.FieldDescriptor {
	if f.IsMap() {
		return f.MapValue()
	}
	return f
}

// describe writes what a call takes or returns.
func (r *reference) describe(b *strings.Builder, on, what string, m protoreflect.MessageDescriptor) {
	switch {
	case r.page[m.Name()] != "":
		fmt.Fprintf(b, "\n%s: %s\n", what, r.link(on, m))
	case m.Fields().Len() == 0:
		fmt.Fprintf(b, "\n%s: no fields\n", what)
	default:
		fmt.Fprintf(b, "\n%s:", what)
		if said := hubv1.Comments()[string(m.Name())]; said != "" {
			b.WriteString(" " + prose(said))
		}
		b.WriteString("\n\n")
		r.fields(b, on, m)
	}
}

func (r *reference) link(on string, m protoreflect.MessageDescriptor) string {
	page := r.page[m.Name()]
	if page == on {
		page = ""
	}
	return fmt.Sprintf("[%s](%s#%s)", m.Name(), page, strings.ToLower(string(m.Name())))
}

func (r *reference) fields(b *strings.Builder, on string, m protoreflect.MessageDescriptor) {
	b.WriteString("| field | type | meaning |\n|---|---|---|\n")
	for i := range m.Fields().Len() {
		f := m.Fields().Get(i)
		kind := valueOf(f).Kind().String()
		if inner := valueOf(f).Message(); inner != nil {
			kind = r.link(on, inner)
		}
		switch {
		case f.IsMap():
			kind = "map of " + kind
		case f.IsList():
			kind = "list of " + kind
		}
		fmt.Fprintf(b, "| `%s` | %s | %s |\n", f.JSONName(), kind, prose(hubv1.Comments()[string(m.Name())+"."+string(f.Name())]))
	}
}

// messages describes those of a page, by name.
func (r *reference) messages(b *strings.Builder, on, level string) {
	for _, file := range definitions() {
		all := file.Messages()
		for i := range all.Len() {
			m := all.Get(i)
			if r.page[m.Name()] != on {
				continue
			}
			fmt.Fprintf(b, "\n%s %s\n\n", level, m.Name())
			if said := hubv1.Comments()[string(m.Name())]; said != "" {
				b.WriteString(prose(said) + "\n\n")
			}
			r.fields(b, on, m)
		}
	}
}

// servicePage returns the page of a service.
func (r *reference) servicePage(t *testing.T, s protoreflect.ServiceDescriptor) string {
	t.Helper()
	var b strings.Builder
	on := pageOf(s)
	fmt.Fprintf(&b, "# %s\n\n%s\n", s.Name(), prose(hubv1.Comments()[string(s.Name())]))
	for _, m := range methods(s) {
		name := string(s.Name()) + "/" + string(m.Name())
		e, there := r.examples[name]
		if !there {
			t.Errorf("%s has no example in examples.txt", name)
			continue
		}
		fmt.Fprintf(&b, "\n## %s\n\n", m.Name())
		if said := hubv1.Comments()[string(s.Name())+"."+string(m.Name())]; said != "" {
			b.WriteString(prose(said) + "\n\n")
		}
		needs := r.rights[string(s.Name())+string(m.Name())]
		if needs == "" {
			t.Errorf("hub/console/access.go has no right for %s that this page knows", name)
		}
		fmt.Fprintf(&b, "`POST /%s/%s`, right: %s.\n", s.FullName(), m.Name(), needs)
		r.describe(&b, on, "Request", m.Input())
		answer := "Answer"
		if m.IsStreamingServer() {
			answer = "Answer, a stream of"
		}
		r.describe(&b, on, answer, m.Output())
		fmt.Fprintf(&b, "\n```sh\n%s```\n\n```go\n%s```\n", e.shell(m), e.golang(t, m))
	}
	var own strings.Builder
	if r.messages(&own, on, "###"); own.Len() > 0 {
		b.WriteString("\n## Messages\n" + own.String())
	}
	return b.String()
}

func prose(text string) string {
	return strings.NewReplacer("|", "\\|", "<", "&lt;", "*", "\\*", "_", "\\_", "[", "\\[").Replace(text)
}

// check compares a page with what it should be, or writes it.
func check(t *testing.T, name, want string) {
	t.Helper()
	path := filepath.Join(folder, name)
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if have, err := os.ReadFile(path); err != nil || string(have) != want {
		t.Errorf("%s is not what make generate writes (%v)", path, err)
	}
}

func TestPagesAreCurrent(t *testing.T) {
	r := newReference(t)
	head, err := os.ReadFile(folder + "README.md")
	if err != nil {
		t.Fatal(err)
	}
	written, _, marked := strings.Cut(string(head), mark)
	if !marked {
		t.Fatal("the index lost its mark, so what is handwritten cannot be kept")
	}
	var b strings.Builder
	b.WriteString(written + mark + "\n| service | |\n|---|---|\n")
	known := []string{"README.md", shared}
	for _, s := range services() {
		known = append(known, pageOf(s))
		check(t, pageOf(s), r.servicePage(t, s))
		fmt.Fprintf(&b, "| [%s](%s) | %s |\n", s.Name(), pageOf(s), prose(hubv1.Comments()[string(s.Name())]))
	}
	check(t, "README.md", b.String())
	b.Reset()
	b.WriteString("# Messages of several services\n")
	r.messages(&b, shared, "##")
	check(t, shared, b.String())
	pages, err := filepath.Glob(folder + "*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range pages {
		if !slices.Contains(known, filepath.Base(path)) {
			t.Errorf("%s is of no service", path)
		}
	}
}
