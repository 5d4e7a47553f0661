package access_test

import (
	"testing"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/api/hub/v1/hubv1connect"
	"github.com/axle-cd/axle/cli/access"
	"github.com/axle-cd/axle/cli/commandtest"
)

func TestAddMemberNamesTheGroupFirst(t *testing.T) {
	answers := commandtest.Answers{hubv1connect.GroupsAddMemberProcedure: &hubv1.Group{Name: "web team"}}
	got := commandtest.Run(t, answers, access.Groups, "add-member", "web team", "ann@example.com")
	if got.Error != nil || len(got.Requests) != 1 {
		t.Fatalf("%+v", got)
	}
	if r := got.Requests[0].(*hubv1.AddMemberRequest); r.GetGroup() != "web team" || r.GetUser() != "ann@example.com" {
		t.Errorf("the request is %v", r)
	}
}
