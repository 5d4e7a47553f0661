package cli_test

import (
	"cmp"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/api/object"
)

// ofKinds are commands that are made of the description of a kind, which has their calls.
var ofKinds = regexp.MustCompile(`command\.(Lists|ListsManaged|Gets|Deletes)\(a, "(\w+)"`)

// Every write is possible from the command line, and every read too: a call
// that no command makes would be one that only a screen can reach.
func TestEveryCallHasACommand(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	below, err := filepath.Glob("*/*.go")
	if err != nil {
		t.Fatal(err)
	}
	files = append(files, below...)
	var code strings.Builder
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		code.Write(text)
	}
	for _, made := range ofKinds.FindAllStringSubmatch(code.String(), -1) {
		kind, ok := object.Named(made[2])
		calls := kind.Calls
		method := map[string]string{"Gets": cmp.Or(calls.Get, calls.List), "Deletes": calls.Delete}[made[1]]
		if strings.HasPrefix(made[1], "Lists") {
			method = calls.List
		}
		if !ok || calls.Service == "" || method == "" {
			t.Errorf("%s: the description of the kind has no such call", made[0])
		}
		code.WriteString("\n." + calls.Service + "." + method + "(")
	}
	var services []protoreflect.ServiceDescriptor
	for _, file := range []protoreflect.FileDescriptor{hubv1.File_hub_v1_hub_proto, hubv1.File_hub_v1_access_proto, hubv1.File_hub_v1_login_proto, hubv1.File_hub_v1_globals_proto, hubv1.File_hub_v1_namespaces_proto, hubv1.File_hub_v1_notifications_proto} {
		for i := range file.Services().Len() {
			services = append(services, file.Services().Get(i))
		}
	}
	if len(services) < 8 {
		t.Fatalf("only %d services found", len(services))
	}
	for _, service := range services {
		for j := range service.Methods().Len() {
			call := "." + string(service.Name()) + "." + string(service.Methods().Get(j).Name()) + "("
			// sdk reads long lists page by page.
			pages := ".All" + string(service.Name()) + "("
			if !strings.Contains(code.String(), call) && !(strings.HasSuffix(call, ".List(") && strings.Contains(code.String(), pages)) {
				t.Errorf("no command calls %s", strings.Trim(call, ".("))
			}
		}
	}
}
