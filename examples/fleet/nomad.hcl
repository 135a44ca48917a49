# Eight agents as a batch job: each takes its number from NOMAD_ALLOC_INDEX.
#   nomad job run examples/fleet/nomad.hcl
job "redyno-agents" {
  type = "batch"

  group "agents" {
    count = 8

    constraint {
      operator = "distinct_hosts"
      value    = "true"
    }

    task "agent" {
      driver = "exec"

      config {
        command = "redyno"
        args    = ["agent", "--bus", "redis://bus:6379", "--target", "redis:6379", "--of", "8"]
      }

      resources {
        cpu    = 2000
        memory = 128
      }
    }
  }
}
