resource "axle_notification_router" "ops" {
  name   = "ops"
  events = ["service.update"]
  sinks  = [axle_notification_sink.ops.name]
  filters = [{
    regex = "^edge-.*"
  }]
}
