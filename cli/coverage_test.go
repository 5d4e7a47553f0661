package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
)

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
