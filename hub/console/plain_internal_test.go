package console

import (
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"google.golang.org/protobuf/proto"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/hub/console/packed"
)

// An agent's packed list is cleaned where it is unpacked: the hub stores it
// unchanged, because of its hash.
func TestPackedObjectsAreCleaned(t *testing.T) {
	const evil = "\x1b[2Jevil\u202e\u009b31m"
	pack := func(m proto.Message) []byte {
		text, err := proto.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		w, err := zstd.NewWriter(nil)
		if err != nil {
			t.Fatal(err)
		}
		return w.EncodeAll(text, nil)
	}
	all, err := packed.Components(pack(&hubv1.ComponentList{Components: []*hubv1.Component{{Kind: evil, Name: evil, Message: "one\n" + evil}}}))
	if err != nil || len(all) != 1 || all[0].GetName() != "evil" || all[0].GetKind() != "evil" || all[0].GetMessage() != "one\nevil" {
		t.Errorf("%q, %v", all, err)
	}
	var list hubv1.ServiceDifferenceList
	desired := "a: 1\n" + strings.Repeat("b: 2\n", 1000)
	err = packed.Open(pack(&hubv1.ServiceDifferenceList{Differences: []*hubv1.ServiceDifference{{Name: evil, Desired: desired + evil, Live: evil}}}), &list)
	d := list.GetDifferences()
	if err != nil || len(d) != 1 || d[0].GetName() != "evil" || d[0].GetDesired() != desired+"evil" || d[0].GetLive() != "evil" {
		t.Errorf("%q, %v", d, err)
	}
}
