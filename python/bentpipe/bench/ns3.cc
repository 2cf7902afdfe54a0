// One run of ns-3: a chain of links, and flows that cross all of them from the first host to the last.
// bentpipe.bench.ns3 compiles it against Debian's libns3-dev and makes its arguments.
// A further argument --ns3::Type::Attribute=value sets a default of ns-3. Prints the bytes that reached the
// application.
#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <string>
#include <vector>

using namespace ns3;

int
main(int argc, char** argv)
{
    std::string links;
    double per = 0.0;
    double spread = 0.0;
    double duration = 0.0;
    uint32_t flows = 1;
    uint64_t run = 1;
    CommandLine line;
    line.AddValue("links", "", links);
    line.AddValue("per", "", per);
    line.AddValue("spread", "", spread);
    line.AddValue("duration", "", duration);
    line.AddValue("flows", "", flows);
    line.AddValue("run", "", run);
    line.Parse(argc, argv);
    // Streams of runs are independent; of seeds not: the generator is linear, seed 2 draws twice what 1 does.
    RngSeedManager::SetRun(run);

    // Of each link, with commas: bit/s, ns, packets, and for the way back bit/s and packets.
    struct Stage
    {
        uint64_t rate;
        uint64_t delay;
        uint32_t room;
        uint64_t rateBack;
        uint32_t roomBack;
    };
    std::vector<Stage> stages;
    std::replace(links.begin(), links.end(), ',', ' ');
    std::istringstream text(links);
    for (Stage s; text >> s.rate >> s.delay >> s.room >> s.rateBack >> s.roomBack;)
    {
        stages.push_back(s);
    }

    NodeContainer nodes;
    nodes.Create(stages.size() + 1);
    InternetStackHelper stack;
    stack.SetIpv6StackInstall(false);
    stack.Install(nodes);
    Ipv4AddressHelper address("10.0.0.0", "255.255.255.252");
    // A discipline on top of a device would be a queue of its own.
    TrafficControlHelper plain;
    Ipv4InterfaceContainer ends;
    for (uint32_t i = 0; i < stages.size(); ++i)
    {
        const Stage& s = stages[i];
        PointToPointHelper helper;
        helper.SetChannelAttribute("Delay", TimeValue(NanoSeconds(s.delay)));
        NetDeviceContainer pair = helper.Install(nodes.Get(i), nodes.Get(i + 1));
        const std::pair<uint64_t, uint32_t> ways[] = {{s.rate, s.room}, {s.rateBack, s.roomBack}};
        for (uint32_t way = 0; way < 2; ++way)
        {
            auto device = DynamicCast<PointToPointNetDevice>(pair.Get(way));
            device->SetDataRate(DataRate(ways[way].first));
            device->GetQueue()->SetMaxSize(QueueSize(QueueSizeUnit::PACKETS, ways[way].second));
        }
        // Data alone are lost, on the link with the least rate.
        bool least = true;
        for (const Stage& other : stages)
        {
            least = least && s.rate <= other.rate;
        }
        if (per > 0.0 && least)
        {
            auto errors = CreateObject<RateErrorModel>();
            errors->SetUnit(RateErrorModel::ERROR_UNIT_PACKET);
            errors->SetRate(per);
            pair.Get(1)->SetAttribute("ReceiveErrorModel", PointerValue(errors));
        }
        ends = address.Assign(pair);
        plain.Uninstall(pair);
        address.NewNetwork();
    }
    Ipv4GlobalRoutingHelper::PopulateRoutingTables();

    const std::string tcp = "ns3::TcpSocketFactory";
    PacketSinkHelper sink(tcp, InetSocketAddress(Ipv4Address::GetAny(), 5000));
    ApplicationContainer sinks = sink.Install(nodes.Get(stages.size()));
    BulkSendHelper source(tcp, InetSocketAddress(ends.GetAddress(1), 5000));
    auto starts = CreateObject<UniformRandomVariable>();
    for (uint32_t i = 0; i < flows; ++i)
    {
        source.Install(nodes.Get(0)).Start(Seconds(starts->GetValue(0.0, spread)));
    }
    Simulator::Stop(Seconds(duration));
    Simulator::Run();
    std::printf("%llu\n", static_cast<unsigned long long>(DynamicCast<PacketSink>(sinks.Get(0))->GetTotalRx()));
    std::fflush(stdout);
    // Taking all its buffers down again would take longer than many runs.
    std::_Exit(0);
}
