package application

import (
	"cmp"
	"context"

	"github.com/axle-cd/axle/hub/objects"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/logkey"
)

// Wrote implements objects.Part: it delivers at once what a declaration wants. What cannot be
// delivered now is tried again by Run.
func (a *Applications) Wrote(ctx context.Context, o objects.Object) {
	if err := a.deliver(ctx, o.ID); err != nil {
		a.config.Log.Warn("the Secret of an application could not be delivered", "application", o.Name, logkey.Error, err)
	}
}

// deliver brings what a client is to have to its cluster, and stores how that went.
func (a *Applications) deliver(ctx context.Context, applicationID string) error {
	r, found, err := a.config.Store.ClientOf(ctx, applicationID)
	if err != nil || !found || r.Wanted == r.Delivered {
		return err
	}
	o, found, err := a.config.Store.ObjectByID(ctx, applicationID)
	if err != nil || !found {
		return err
	}
	d, err := a.delivery(ctx, o, r)
	if err != nil {
		return err
	}
	serviceID, failed := "", error(nil)
	if d.ClusterID != "" {
		serviceID, failed = a.config.Deliverer.Deliver(ctx, d)
	}
	if failed == nil && r.ServiceID != "" && serviceID != r.ServiceID {
		failed = a.config.Deliverer.Remove(ctx, "hub", d)
	}
	noted := a.config.Writer.Write(ctx, func(ctx context.Context) error {
		now, found, err := a.config.Store.ClientOf(ctx, applicationID)
		if err != nil || !found {
			return err
		}
		return a.config.Store.PutClient(ctx, after(now, r, serviceID, failed))
	})
	return cmp.Or(failed, noted)
}

// after is a record after a delivery that began with another one.
func after(now, began Record, serviceID string, failed error) Record {
	if now.Failure = ""; failed != nil {
		now.Failure = errcode.Message(failed)
		return now
	}
	now.ServiceID, now.Delivered = serviceID, began.Wanted
	return now
}

// delivery is what a client is to have.
func (a *Applications) delivery(ctx context.Context, o objects.Object, r Record) (Delivery, error) {
	s, err := parse(o.Spec)
	if err != nil {
		return Delivery{}, err
	}
	references, err := a.config.Store.References(ctx, []string{o.ID})
	if err != nil {
		return Delivery{}, err
	}
	keys, data := s.keys(), map[string]string{}
	data[keys[0].key], data[keys[2].key] = r.ClientID, a.config.Issuer
	secrets, err := a.config.Store.Secrets(ctx, o.ID)
	if err != nil {
		return Delivery{}, err
	}
	if len(secrets) > 0 {
		if data[keys[1].key], err = a.open(secrets[0]); err != nil {
			return Delivery{}, err
		}
	}
	return Delivery{
		ApplicationID: o.ID, Application: o.Name, ServiceID: r.ServiceID, Service: serviceName(o.Name), ClusterID: clusterOf(references), ProjectID: o.ProjectID,
		Namespace: s.Namespace, Secret: cmp.Or(s.Secret, serviceName(o.Name)), Data: data,
	}, nil
}

// undeliveredBatch is how many deliveries one turn tries again.
const undeliveredBatch = 100

// deliverAgain tries what could not be delivered.
func (a *Applications) deliverAgain(ctx context.Context) error {
	all, err := a.config.Store.UndeliveredClients(ctx, a.undelivered.from(), undeliveredBatch)
	if err != nil {
		return err
	}
	a.undelivered.went("")
	if len(all) == undeliveredBatch {
		a.undelivered.went(all[len(all)-1].ApplicationID)
	}
	for _, r := range all {
		if err := a.deliver(ctx, r.ApplicationID); err != nil && ctx.Err() == nil {
			a.config.Log.Debug("the Secret of an application could not be delivered", "application", r.ApplicationID, logkey.Error, err)
		}
	}
	return nil
}
