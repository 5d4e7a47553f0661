package sizes_test

import (
	"fmt"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/internal/bounded"
)

// TestRealTextsFit: the bound of a message is no bound on what a fleet of 100,000 services
// sends.
func TestRealTextsFit(t *testing.T) {
	services := &hubv1.ListServicesResponse{}
	report, clusters := &agentv1.ReportRequest{}, &hubv1.ListClustersResponse{}
	hash := "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	for i := range 3000 {
		services.Services = append(services.Services, &hubv1.Service{
			Id: fmt.Sprint("svc_0123456789abcdef_", i), Cluster: fmt.Sprint("c-", i%300), Name: "web", Project: "p",
			Spec: &hubv1.ServiceSpec{Namespace: "web", Sources: []*hubv1.Source{{Repository: "r", Git: &hubv1.Git{Ref: "main", Folder: "a"}}}, Configuration: map[string]string{"a": "b", "c": "d"}},
		})
		clusters.Clusters = append(clusters.Clusters, &hubv1.Cluster{Id: fmt.Sprint("cls_0123456789abcdef_", i), Name: fmt.Sprint("c-", i), Tags: map[string]string{"a": "b"}})
		report.Services = append(report.Services, &agentv1.ServiceReport{ServiceId: fmt.Sprint("svc_0123456789abcdef_", i), BaseHash: hash, NewHash: hash})
	}
	for name, test := range map[string]struct {
		m    proto.Message
		text int // the limit of the text
		of   int // how many there may be
	}{
		"services": {services, 64 << 20, 100_000}, "clusters": {clusters, 64 << 20, 100_000}, "a report": {report, 8 << 20, 10_000},
	} {
		m, most := test.m, bounded.Most(test.text)/(test.of/3000+1)
		binary, err := proto.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		if err := bounded.CheckProto(binary, m, most); err != nil {
			t.Errorf("%s, %d bytes: %v", name, len(binary), err)
		}
		if test.text > 8<<20 {
			continue // answers, of which only browsers read JSON
		}
		text, err := protojson.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		if err := bounded.ProtoJSON(text, m.ProtoReflect().New().Interface(), most, protojson.UnmarshalOptions{}); err != nil {
			t.Errorf("%s as JSON, %d bytes: %v", name, len(text), err)
		}
	}
}
