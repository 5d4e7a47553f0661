package console

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
)

func TestEveryCallSaysWhoMayMakeIt(t *testing.T) {
	listed := map[string]bool{}
	files := []protoreflect.FileDescriptor{hubv1.File_hub_v1_hub_proto}
	for _, file := range files {
		for i := range file.Services().Len() {
			service := file.Services().Get(i)
			for j := range service.Methods().Len() {
				procedure := "/" + string(service.FullName()) + "/" + string(service.Methods().Get(j).Name())
				listed[procedure] = true
				if _, ok := access[procedure]; !ok {
					t.Errorf("%s is not in access.go: decide who may call it", procedure)
				}
			}
		}
	}
	for procedure, action := range access {
		if !listed[procedure] {
			t.Errorf("%s is in access.go but not in the API", procedure)
		}
		if action == open && !strings.HasSuffix(procedure, "Sessions/Setup") {
			t.Errorf("%s needs no identity", procedure)
		}
	}
}
