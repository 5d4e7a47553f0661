package apidocs

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/api/object"
)

// shared is the page of messages that several services use.
const shared = "messages.md"

// Pages returns the pages of the API's services by their path in the documentation, made of
// the definitions in api/hub/v1 and, below root, of the rights in hub/console/access.go and
// the examples in examples.txt. A call without one of them is an error.
func Pages(root string) (map[string]string, error) {
	r, err := newReference(root)
	if err != nil {
		return nil, err
	}
	const folder = "api/"
	all := map[string]string{}
	var index, messages strings.Builder
	index.WriteString("# The hub's API\n\n## Services\n\n| service | |\n|---|---|\n")
	for _, s := range services() {
		if all[folder+pageOf(s)], err = r.servicePage(s); err != nil {
			return nil, err
		}
		fmt.Fprintf(&index, "| [%s](%s) | %s |\n", s.Name(), pageOf(s), prose(hubv1.Comments()[string(s.Name())]))
	}
	all[folder+"README.md"] = index.String()
	messages.WriteString("# Messages of several services\n")
	r.messages(&messages, shared, "##")
	all[folder+shared] = messages.String()
	return all, nil
}

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

var accessLine = regexp.MustCompile(`(?m)^\s+hubv1connect\.(\w+)Procedure:\s+\{(?:identity\.)?(\w+),`)

// rights returns the right of each call, by Service and Call as one word.
func rights(root string) (map[string]string, error) {
	files, err := filepath.Glob(filepath.Join(root, "hub/console/kind_*.go"))
	if err != nil {
		return nil, err
	}
	found := map[string]string{}
	for _, file := range append(files, filepath.Join(root, "hub/console/access.go")) {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		for _, m := range accessLine.FindAllStringSubmatch(string(text), -1) {
			words, ok := right[m[2]]
			if !ok {
				return nil, fmt.Errorf("%s: the right %s of %s has no words here", file, m[2], m[1])
			}
			found[m[1]] = words
		}
	}
	for _, k := range object.Stored() {
		found[k.Calls.Service+k.Calls.List], found[k.Calls.Service+k.Calls.Get] = right["ActionRead"], right["ActionRead"]
		write := right["Action"+strings.ToUpper(k.Storage.Write[:1])+k.Storage.Write[1:]]
		found[k.Calls.Service+k.Calls.Update], found[k.Calls.Service+k.Calls.Delete] = write, write
	}
	return found, nil
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

func newReference(root string) (*reference, error) {
	r := &reference{examples: map[string]example{}, page: map[protoreflect.Name]string{}}
	var err error
	if r.rights, err = rights(root); err != nil {
		return nil, err
	}
	shown, err := examples(root)
	if err != nil {
		return nil, err
	}
	for _, e := range shown {
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
	return r, nil
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
func (r *reference) servicePage(s protoreflect.ServiceDescriptor) (string, error) {
	var b strings.Builder
	on := pageOf(s)
	fmt.Fprintf(&b, "# %s\n\n%s\n", s.Name(), prose(hubv1.Comments()[string(s.Name())]))
	for _, m := range methods(s) {
		if err := r.call(&b, on, m); err != nil {
			return "", err
		}
	}
	var own strings.Builder
	if r.messages(&own, on, "###"); own.Len() > 0 {
		b.WriteString("\n## Messages\n" + own.String())
	}
	return b.String(), nil
}

// call describes a call.
func (r *reference) call(b *strings.Builder, on string, m protoreflect.MethodDescriptor) error {
	s := m.Parent()
	e, there := r.examples[string(s.Name())+"/"+string(m.Name())]
	if !there {
		return fmt.Errorf("%s/%s has no example in examples.txt", s.Name(), m.Name())
	}
	fmt.Fprintf(b, "\n## %s\n\n", m.Name())
	if said := hubv1.Comments()[string(s.Name())+"."+string(m.Name())]; said != "" {
		b.WriteString(prose(said) + "\n\n")
	}
	needs := r.rights[string(s.Name())+string(m.Name())]
	if needs == "" {
		return fmt.Errorf("hub/console/access.go has no right for %s/%s that its page knows", s.Name(), m.Name())
	}
	fmt.Fprintf(b, "`POST /%s/%s`, right: %s.\n", s.FullName(), m.Name(), needs)
	r.describe(b, on, "Request", m.Input())
	answer := "Answer"
	if m.IsStreamingServer() {
		answer = "Answer, a stream of"
	}
	r.describe(b, on, answer, m.Output())
	golang, err := e.golang(m)
	fmt.Fprintf(b, "\n```sh\n%s```\n\n```go\n%s```\n", e.shell(m), golang)
	return err
}

func prose(text string) string {
	return strings.NewReplacer("|", "\\|", "<", "&lt;", "*", "\\*", "_", "\\_", "[", "\\[").Replace(text)
}
