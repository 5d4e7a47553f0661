package hubv1

import (
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
)

// Procedures begins the path of each call: Projects/Get is served at Procedures+"Projects/Get".
const Procedures = "/axle.hub.v1."

// MethodNamed returns the method of a name such as "Projects/Get", nil for none.
func MethodNamed(name string) protoreflect.MethodDescriptor {
	m, _ := named(strings.ReplaceAll(name, "/", ".")).(protoreflect.MethodDescriptor)
	return m
}

// MessageNamed returns the message of a name such as "Project", nil for none.
func MessageNamed(name string) protoreflect.MessageDescriptor {
	m, _ := named(name).(protoreflect.MessageDescriptor)
	return m
}

// named is nil for a name that nothing has.
func named(name string) protoreflect.Descriptor {
	found, _ := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName("axle.hub.v1." + name))
	return found
}
