package console

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/hub/identity"
)

// procedures lists every call of people's API.
func procedures() map[string]bool {
	all := map[string]bool{}
	protoregistry.GlobalFiles.RangeFilesByPackage(hubv1.File_hub_v1_hub_proto.Package(), func(file protoreflect.FileDescriptor) bool {
		for i := range file.Services().Len() {
			service := file.Services().Get(i)
			for j := range service.Methods().Len() {
				all["/"+string(service.FullName())+"/"+string(service.Methods().Get(j).Name())] = true
			}
		}
		return true
	})
	return all
}

// withoutIdentity are the calls that anybody may make: what makes an identity.
var withoutIdentity = []string{"Sessions/Setup", "Federation/Exchange", "Logins/Trade", "Logins/StartDevice", "Logins/PollDevice"}

// hubWide are the calls that read and are about the hub as a whole.
var hubWide = []string{"Backends/List", "Backends/GetMigration", "Hub/Status"}

func TestEveryCallSaysWhoMayMakeIt(t *testing.T) {
	listed := procedures()
	named := func(procedure string, names []string) bool {
		for _, name := range names {
			if strings.HasSuffix(procedure, "."+name) {
				return true
			}
		}
		return false
	}
	for procedure := range listed {
		if _, ok := access[procedure]; !ok {
			t.Errorf("%s is not in access.go: decide who may call it", procedure)
		}
	}
	for procedure, action := range access {
		if !listed[procedure] {
			t.Errorf("%s is in access.go but not in the API", procedure)
		}
		switch _, placed := scopes[procedure]; {
		case action == open:
			if !named(procedure, withoutIdentity) {
				t.Errorf("%s needs no identity", procedure)
			}
		case action == identity.ActionAdmin || action == identity.ActionSelf:
			if placed {
				t.Errorf("%s is for %s wherever it is about, and scope.go has it", procedure, action)
			}
		case !placed && !named(procedure, hubWide):
			t.Errorf("%s is not in scope.go: say how the place that it is about is found", procedure)
		}
	}
	for procedure := range scopes {
		if _, ok := access[procedure]; !ok {
			t.Errorf("%s is in scope.go but not in access.go", procedure)
		}
	}
}
