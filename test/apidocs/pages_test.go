package apidocs

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
)

// Each call has a text, a right and both examples on the page of its service, and each
// message that a call takes or returns has a row for each field where it is described.
func TestEveryCallIsDescribed(t *testing.T) {
	pages, err := Pages(root)
	if err != nil {
		t.Fatal(err)
	}
	r, err := newReference(root)
	if err != nil {
		t.Fatal(err)
	}
	calls := 0
	for _, s := range services() {
		page := pages["api/"+pageOf(s)]
		if text := prose(hubv1.Comments()[string(s.Name())]); text == "" || !strings.HasPrefix(page, "# "+string(s.Name())+"\n\n"+text) {
			t.Errorf("the page of %s does not begin with a text about it", s.Name())
		}
		if !strings.Contains(pages["api/README.md"], "\n| ["+string(s.Name())+"]("+pageOf(s)+") |") {
			t.Errorf("the index has no row for %s", s.Name())
		}
		for _, m := range methods(s) {
			calls++
			_, call, found := strings.Cut(page, "\n## "+string(m.Name())+"\n\n")
			call, _, _ = strings.Cut(call, "\n## ")
			if text := prose(hubv1.Comments()[string(s.Name())+"."+string(m.Name())]); !found || text == "" || !strings.HasPrefix(call, text) {
				t.Errorf("%s/%s has no text", s.Name(), m.Name())
			}
			for _, part := range []string{"right: ", "```sh\n", "```go\n"} {
				if !strings.Contains(call, part) {
					t.Errorf("%s/%s has no part %q", s.Name(), m.Name(), part)
				}
			}
			reached := map[protoreflect.Name]protoreflect.MessageDescriptor{}
			below(m.Input(), reached)
			below(m.Output(), reached)
			for name, message := range reached {
				described := call
				if at := r.page[name]; at != "" {
					level := map[bool]string{true: "## ", false: "### "}[at == shared]
					_, described, _ = strings.Cut(pages["api/"+at], "\n"+level+string(name)+"\n\n")
					described, _, _ = strings.Cut(described, "\n"+level)
				}
				for i := range message.Fields().Len() {
					if f := message.Fields().Get(i); !strings.Contains(described, "\n| `"+f.JSONName()+"` |") {
						t.Errorf("%s/%s: %s has no row for %s", s.Name(), m.Name(), name, f.JSONName())
					}
				}
			}
		}
	}
	if calls < 100 {
		t.Errorf("only %d calls are described", calls)
	}
}

// below collects a message and those of its fields.
func below(m protoreflect.MessageDescriptor, found map[protoreflect.Name]protoreflect.MessageDescriptor) {
	if found[m.Name()] != nil {
		return
	}
	found[m.Name()] = m
	for i := range m.Fields().Len() {
		if f := valueOf(m.Fields().Get(i)); f.Message() != nil {
			below(f.Message(), found)
		}
	}
}
