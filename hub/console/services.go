package console

import (
	"context"
	"fmt"

	"connectrpc.com/connect"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/api/spec/convert"
	"github.com/axle-cd/axle/hub/console/fleetapi"
	"github.com/axle-cd/axle/hub/console/packed"
	"github.com/axle-cd/axle/hub/event"
	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/hub/managed"
)

// services are the calls about services; lists finds those of a list in the index.
type services struct {
	*Server
	lists *fleetapi.API
}

func ref(r *hubv1.ServiceRef) fleet.Ref { return fleet.Ref{Cluster: r.GetCluster(), Name: r.GetName()} }

// answer turns a view, or its error, into an answer with each object.
func answer(v fleet.ServiceView, err error) (*connect.Response[hubv1.Service], error) {
	if err != nil {
		return nil, err
	}
	out := service(v)
	if out.Components, err = packed.Components(v.Status.Components); err != nil {
		return nil, fmt.Errorf("service %s: %w", v.ID, err)
	}
	return connect.NewResponse(out), nil
}

// Objects are the objects of a service as its agent reported them, for the fleet.
func Objects(components []byte) ([]fleet.Object, error) {
	list, err := packed.Components(components)
	all := make([]fleet.Object, len(list))
	for i, c := range list {
		all[i] = fleet.Object{Group: c.GetGroup(), Kind: c.GetKind(), Namespace: c.GetNamespace(), Name: c.GetName()}
	}
	return all, err
}

func (s *services) List(ctx context.Context, r *connect.Request[hubv1.ListServicesRequest]) (*connect.Response[hubv1.ListServicesResponse], error) {
	reach, err := s.readable(ctx)
	if err != nil {
		return nil, err
	}
	at := s.config.Feed.Position()
	out, err := s.page(ctx, r.Msg, reach)
	if err == nil && len(out.GetServices()) == 0 && r.Msg.GetPageToken() == "" {
		// An empty list for a project or cluster that does not exist would hide
		// a typing error.
		err = s.exists(ctx, r.Msg.GetProject(), r.Msg.GetCluster())
	}
	if err != nil {
		return nil, err
	}
	out.ResumeToken = at.String()
	return connect.NewResponse(out), nil
}

// page reads a page: from the index what it selects by state, anything else in the order
// of the table.
func (s *services) page(ctx context.Context, r *hubv1.ListServicesRequest, reach identity.Reach) (*hubv1.ListServicesResponse, error) {
	if len(r.GetSync())+len(r.GetHealth()) > 0 {
		if err := managed.Filter(r.GetManagedByTool()); err != nil {
			return nil, err
		}
		return s.lists.ServicePage(ctx, r, reach)
	}
	page, err := s.config.Fleet.Services(ctx, fleet.ServiceFilter{
		Cluster: r.GetCluster(), Project: r.GetProject(), Name: r.GetName(), Reach: &reach, ManagedBy: r.GetManagedByTool(),
		PageSize: int(r.GetPageSize()), PageToken: r.GetPageToken(),
	})
	out := &hubv1.ListServicesResponse{NextPageToken: page.NextPageToken}
	for _, v := range page.Services {
		out.Services = append(out.Services, fleetapi.Brief(service(v), r.GetBrief()))
	}
	return out, err
}

func (s *services) Get(ctx context.Context, r *connect.Request[hubv1.GetServiceRequest]) (*connect.Response[hubv1.Service], error) {
	return answer(s.config.Fleet.Service(ctx, ref(r.Msg.GetRef())))
}

func (s *services) Create(ctx context.Context, r *connect.Request[hubv1.CreateServiceRequest]) (*connect.Response[hubv1.Service], error) {
	return answer(s.config.Fleet.CreateService(ctx, caller(ctx).By(), fleet.ServiceRequest{Ref: ref(r.Msg.GetRef()), Spec: specOf(r.Msg.GetSpec()), Project: r.Msg.GetProject(), DryRun: r.Msg.GetDryRun()}))
}

func (s *services) Update(ctx context.Context, r *connect.Request[hubv1.UpdateServiceRequest]) (*connect.Response[hubv1.Service], error) {
	return answer(s.config.Fleet.UpdateService(ctx, caller(ctx).By(), ref(r.Msg.GetRef()), specOf(r.Msg.GetSpec()), r.Msg.GetFields(), r.Msg.GetDryRun()))
}

func (s *services) Apply(ctx context.Context, r *connect.Request[hubv1.ApplyServiceRequest]) (*connect.Response[hubv1.ApplyServiceResponse], error) {
	v, outcome, err := s.config.Fleet.ApplyService(ctx, caller(ctx).By(), fleet.ServiceRequest{
		Ref: ref(r.Msg.GetRef()), Spec: specOf(r.Msg.GetSpec()), Project: r.Msg.GetProject(), ParentID: r.Msg.GetParentId(), DryRun: r.Msg.GetDryRun(),
	})
	if err != nil {
		return nil, err
	}
	out, err := answer(v, nil)
	if err != nil {
		return nil, err
	}
	return connect.NewResponse(&hubv1.ApplyServiceResponse{Service: out.Msg, Result: string(outcome)}), nil
}

// Sync asks the agent for a pass and upstream for new content: a person who
// says "now" means the commit that they just pushed.
func (s *services) Sync(ctx context.Context, r *connect.Request[hubv1.SyncServiceRequest]) (*connect.Response[hubv1.Service], error) {
	v, err := s.config.Fleet.SyncService(ctx, caller(ctx).By(), ref(r.Msg.GetRef()), r.Msg.GetResources()...)
	if err == nil && v.RepositoryID != "" {
		err = s.config.Cache.Refresh(ctx, v.RepositoryID)
	}
	return answer(v, err)
}

// because gives a person's reason to what happens in a call.
func because(ctx context.Context, reason string) (context.Context, error) {
	w := event.Why{Reason: reason}
	return event.Because(ctx, w), w.Check()
}

func (s *services) Pause(ctx context.Context, r *connect.Request[hubv1.PauseServiceRequest]) (*connect.Response[hubv1.Service], error) {
	ctx, err := because(ctx, r.Msg.GetReason())
	if err != nil {
		return nil, err
	}
	return answer(s.config.Fleet.PauseService(ctx, caller(ctx).By(), ref(r.Msg.GetRef())))
}

func (s *services) Resume(ctx context.Context, r *connect.Request[hubv1.ResumeServiceRequest]) (*connect.Response[hubv1.Service], error) {
	return answer(s.config.Fleet.ResumeService(ctx, caller(ctx).By(), ref(r.Msg.GetRef())))
}

func (s *services) Rollback(ctx context.Context, r *connect.Request[hubv1.RollbackServiceRequest]) (*connect.Response[hubv1.Service], error) {
	ctx, err := because(ctx, r.Msg.GetReason())
	if err != nil {
		return nil, err
	}
	return answer(s.config.Fleet.RollbackService(ctx, caller(ctx).By(), ref(r.Msg.GetRef()), r.Msg.GetRevision()))
}

func (s *services) ApprovePrune(ctx context.Context, r *connect.Request[hubv1.ApprovePruneRequest]) (*connect.Response[hubv1.Service], error) {
	return answer(s.config.Fleet.ApprovePrune(ctx, caller(ctx).By(), ref(r.Msg.GetRef())))
}

func (s *services) Delete(ctx context.Context, r *connect.Request[hubv1.DeleteServiceRequest]) (*connect.Response[hubv1.Service], error) {
	return answer(s.config.Fleet.DeleteService(ctx, caller(ctx).By(), ref(r.Msg.GetRef()), r.Msg.GetDetach()))
}

func (s *services) ListRevisions(ctx context.Context, r *connect.Request[hubv1.ListRevisionsRequest]) (*connect.Response[hubv1.ListRevisionsResponse], error) {
	all, err := s.config.Fleet.Revisions(ctx, ref(r.Msg.GetRef()))
	if err != nil {
		return nil, err
	}
	out := &hubv1.ListRevisionsResponse{}
	for _, v := range all {
		out.Revisions = append(out.Revisions, &hubv1.Revision{
			Number: v.Number, SourceRevision: v.SourceRevision, Digest: v.Digest, SpecDigest: v.SpecDigest, Message: v.Message, Author: v.Author,
			CommittedAt: v.CommittedAt, CreatedAt: v.CreatedAt, Cause: string(v.Cause), By: v.By, Reason: v.Reason, Current: v.Current, Sources: revisionSources(v),
		})
	}
	return connect.NewResponse(out), nil
}

// specOf returns a spec that somebody declares.
func specOf(spec *hubv1.ServiceSpec) (out fleet.Spec) {
	if spec != nil {
		convert.Copy(&out, spec)
	}
	return out
}

// ListTests returns how a service's tests ran.
func (s *services) ListTests(ctx context.Context, r *connect.Request[hubv1.ListTestsRequest]) (*connect.Response[hubv1.ListTestsResponse], error) {
	runs, err := s.config.Fleet.TestRuns(ctx, ref(r.Msg.GetRef()), r.Msg.GetRevision())
	if err != nil {
		return nil, err
	}
	out := &hubv1.ListTestsResponse{}
	for _, run := range runs {
		out.Runs = append(out.Runs, testRun(run))
	}
	return connect.NewResponse(out), nil
}

func testRun(r fleet.TestRun) *hubv1.TestRun {
	out := &hubv1.TestRun{
		Key: r.Key, Revision: r.Revision, SourceRevision: r.SourceRevision, TarballDigest: r.TarballDigest, State: string(r.State), Message: r.Message,
		StartedAt: r.StartedAt, EndedAt: r.EndedAt, ReportedAt: r.ReportedAt,
	}
	for _, t := range r.Tests {
		one := &hubv1.TestResult{
			Namespace: t.Namespace, Name: t.Name, State: string(t.State), Attempt: int32(t.Attempt), Attempts: int32(t.Attempts),
			StartedAt: t.StartedAt, EndedAt: t.EndedAt, Message: t.Message, Tail: t.Tail, LogBytes: t.LogBytes,
		}
		if j := t.Report; j != nil {
			one.Report = &hubv1.TestReport{Tests: int32(j.Tests), Failures: int32(j.Failures), Errors: int32(j.Errors), Skipped: int32(j.Skipped), DurationMicros: j.Duration}
			for _, c := range j.Failed {
				one.Report.Failed = append(one.Report.Failed, &hubv1.TestCase{Suite: c.Suite, Name: c.Name, Message: c.Message})
			}
		}
		out.Tests = append(out.Tests, one)
	}
	return out
}
